/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rtnetlink dumps: routing rules, devices, traffic control. */
#ifndef POLICY_KERNEL_RTNL_H
#define POLICY_KERNEL_RTNL_H

#include <stddef.h>
#include <stdint.h>

#include <linux/netlink.h>

#include "common/diag.h"
#include "policy/kernel/attribute.h"

/* Called for each message of a dump; anything but 0 ends it with that value, and
 * then has recorded why in a diag of its own context's. */
typedef int rtnl_on_message(const struct nlmsghdr *message, void *context);

/* Dumps what an RTM_GET... with the fixed header `header` asks for, in the network
 * namespace of the caller. An interrupted dump is asked again, a few times, with
 * `start` called before each try (it forgets what was taken), and is then "could
 * not tell". `place` names what is being read. */
int rtnl_dump(uint16_t type, const void *header, size_t header_size,
	      void (*start)(void *context), rtnl_on_message *on_message, void *context,
	      const char *place, struct diag *diag);

/* The attributes after a fixed header of `header_size` bytes; none if the message
 * is too short for it. */
struct attributes rtnl_attributes(const struct nlmsghdr *message, size_t header_size);

#endif
