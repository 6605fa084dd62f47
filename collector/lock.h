/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collector's own folder, and one collection at a time. */
#ifndef COLLECTOR_LOCK_H
#define COLLECTOR_LOCK_H

#include "common/diag.h"

/* Root's alone: the lock and the journal lie there. On a disk, because a
 * journal must outlive a power cut. */
#define LOCK_FOLDER "/var/lib/netproof-collector"

/* Makes the folder if it is not there, and opens it; the caller owns `*ret_fd`. */
int lock_open_folder(int *ret_fd, struct diag *diag);

/* Takes the lock; another collection that runs is a refusal ("busy"), and is not
 * disturbed. Held until `*ret_fd` is closed. */
int lock_take(int folder_fd, int *ret_fd, struct diag *diag);

#endif
