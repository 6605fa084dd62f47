/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connection mark of flows that a policy let out. */
#ifndef POLICY_MARK_H
#define POLICY_MARK_H

/* From the highest bit: 12 fixed bits, by which the guard knows any mark of
 * ours; 2 bits for the side; 18 bits of the profile's digest. */
#define MARK_OURS 0x4e500000U
#define MARK_OURS_MASK 0xfff00000U
#define MARK_SIDE_SHIFT 18
#define MARK_SIDE_WORKER 1U
#define MARK_SIDE_DAEMON 2U
#define MARK_PROFILE_MASK 0x0003ffffU

#endif
