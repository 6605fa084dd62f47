/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verifier gives up everything but reading files. */
#ifndef VERIFIER_CONFINE_H
#define VERIFIER_CONFINE_H

#include "common/diag.h"

/* Drops every capability and installs the filter: from here on the first socket, and
 * every other call that reading files and printing does not need, kills the process.
 * To be called before the first untrusted byte is read. Once; not undone. */
int confine_verifier(struct diag *diag);

#endif
