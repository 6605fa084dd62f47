/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Subordinate uid ranges, as newuidmap reads them. */
#ifndef POLICY_KERNEL_SUBUID_H
#define POLICY_KERNEL_SUBUID_H

#include <stdint.h>

#include "common/diag.h"
#include "policy/subjects.h"

#define SUBUID_PATH "/etc/subuid"
#define SUBUID_NSSWITCH_PATH "/etc/nsswitch.conf"

/* The subjects: `uid`, and the ranges that `path` gives to it, under the account's
 * name `user` or the number. No such file: none. A line of this user's that
 * newuidmap could read otherwise than we do is refused; `*ret_subjects` then
 * holds what is certain, the uid at least, so that a guard can still be loaded. */
int subuid_read(const char *path, const char *user, uint32_t uid,
		struct subjects *ret_subjects, struct diag *diag);

/* Refuses a name service switch file that gives subordinate ids to anything but
 * files: there would be ranges that subuid_read() does not see. */
int subuid_check_switch(const char *path, struct diag *diag);

#endif
