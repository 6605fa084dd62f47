/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workload user's account on this host. */
#ifndef POLICY_KERNEL_ACCOUNT_H
#define POLICY_KERNEL_ACCOUNT_H

#include <stdint.h>

#include "common/diag.h"
#include "policy/site.h"

/* The uid of the site's workload user. Refused: no such account, or uid 0. */
int account_find(const struct site *site, uint32_t *ret_uid, struct diag *diag);

#endif
