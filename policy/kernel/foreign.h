/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rest of the host's rules: what is there, and whether it can defeat ours. */
#ifndef POLICY_KERNEL_FOREIGN_H
#define POLICY_KERNEL_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/diag.h"
#include "common/digest.h"

/*
 * Theory of operation
 *
 * An `accept` of somebody else's cannot undo a reject of ours, but a copy, a
 * rewrite, a foreign mark or a packet without connection can. So everything else
 * on a packet's way is listed as items: nf_tables of every family, legacy
 * ip_tables, BPF programs on netfilter, on devices and on the workload's cgroups,
 * traffic control, and policy routing. An item is harmless if all it is made of is
 * in a closed list; anything this module does not know is harmful.
 *
 * An nf_tables table that is harmful may be accepted by its kernel-form digest
 * (the site's `foreign_accepted`). Nothing else can be: none of it has a form that
 * a digest could hold still.
 *
 * Not seen, because no interface shows it without changing the host: ebtables'
 * legacy tables, and BPF programs on security hooks. docs/threat-model.md says
 * what follows.
 */

#define FOREIGN_NAME_SIZE 320
#define FOREIGN_HARM_SIZE 256

struct foreign_item {
	char name[FOREIGN_NAME_SIZE];  /* "nf_tables inet fail2ban" */
	char sha256[DIGEST_TEXT_SIZE]; /* of its form; elements that come and go
					  are not part of it */
	char harm[FOREIGN_HARM_SIZE];  /* what it can do to us; "": harmless */
	bool is_table;                 /* may be accepted by its digest */
};

/* Starts as all zero; released with foreign_release(). */
struct foreign {
	struct foreign_item *items; /* by name, then digest */
	size_t count, room;
};

/* Lists the network namespace of the caller, without the inet table `own_table`.
 * `cgroups` are paths below the cgroup2 mount `cgroup_root` ("/sys/fs/cgroup")
 * without a leading slash, NULL at the end: of each, or of its nearest ancestor
 * that exists, the effective programs are asked for. Changes nothing. Anything
 * that cannot be read is "could not tell". Wants CAP_NET_ADMIN and CAP_SYS_ADMIN
 * in the initial user namespace. */
int foreign_read(const char *own_table, const char *cgroup_root,
		 const char *const *cgroups, struct foreign *ret_foreign,
		 struct diag *diag);

void foreign_release(struct foreign *foreign);

/* Refuses the first harmful item that is neither a table nor accepted; the
 * message says what it can do, and for a table the digest to accept it by. */
int foreign_judge(const struct foreign *foreign, const char accepted[][DIGEST_TEXT_SIZE],
		  size_t accepted_count, struct diag *diag);

/* One digest over all items' names and digests: nft_foreign_sha256. */
int foreign_digest(const struct foreign *foreign, char ret_sha256[DIGEST_TEXT_SIZE],
		   struct diag *diag);

/* --- for the parts of this module ------------------------------------------------ */

/* Adds an item. `form` is what its digest is taken over; `harm` may be NULL. */
int foreign_add(struct foreign *foreign, const char *name, const void *form,
		size_t form_size, const char *harm, struct diag *diag);

int foreign_read_tables(const char *own_table, struct foreign *foreign,
			struct diag *diag);
int foreign_read_legacy(struct foreign *foreign, struct diag *diag);
int foreign_read_routing(struct foreign *foreign, struct diag *diag);
int foreign_read_devices(struct foreign *foreign, struct diag *diag);
int foreign_read_bpf(const char *cgroup_root, const char *const *cgroups,
		     struct foreign *foreign, struct diag *diag);

#endif
