/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record's head and preconditions, from what the bindings found. */
#ifndef COLLECTOR_HEAD_H
#define COLLECTOR_HEAD_H

#include "collector/session.h"

/* What the record says of the host, the tools, the inputs and the endpoints. */
int head_fill(struct session *session, struct diag *diag);

/* What was looked at before anything started. */
void head_fill_preconditions(struct session *session, const struct preflight *now);

#endif
