/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the collector keeps of root's power. */
#ifndef COLLECTOR_CONFINE_H
#define COLLECTOR_CONFINE_H

#include "common/diag.h"

/* Keeps only the capabilities that steps of a collection need (docs/capabilities.md
 * says which for which), no more for anything executed, sets no-new-privileges, and
 * installs the filter that every child inherits: any call that is not in its
 * list, and any call of a foreign architecture, kills. Fails closed. */
int confine_collector(struct diag *diag);

#endif
