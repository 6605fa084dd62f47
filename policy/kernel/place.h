/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether cgroups are seen from here as the host's PID 1 sees them. */
#ifndef POLICY_KERNEL_PLACE_H
#define POLICY_KERNEL_PLACE_H

#include "common/diag.h"

/* A rule names a cgroup by its path, found from here, and by a level that is counted
 * from the root of the loader's cgroup namespace and shown by nothing. What is loaded
 * from any namespace but PID 1's is therefore something else, although it may be listed
 * alike. Where PID 1 may not be looked at, the first cgroup namespace of all will do.
 * Anything else is "could not tell". */
int place_check_cgroups(struct diag *diag);

#endif
