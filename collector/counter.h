/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's deny rules have counted. */
#ifndef COLLECTOR_COUNTER_H
#define COLLECTOR_COUNTER_H

#include <stdint.h>

#include "common/diag.h"

/* The packets that the rejecting rules of the inet table `table` counted, added up.
 * Packets do not move the ruleset's generation: two readings around one attempt
 * tell whether a rule met it. */
int counter_read_denied(const char *table, int64_t *ret_packets, struct diag *diag);

/* The generation of the ruleset. */
int counter_read_generation(int64_t *ret_generation, struct diag *diag);

#endif
