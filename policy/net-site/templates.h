/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The templates of systemd/, as they were when the program was built. */
#ifndef POLICY_NET_SITE_TEMPLATES_H
#define POLICY_NET_SITE_TEMPLATES_H

#include <stddef.h>

/*
 * Theory of operation
 *
 * The templates are part of the program: what it renders is decided by the
 * binary, whose digest a release names, and by the site, whose digest every
 * record names. There is no data folder to be lost, changed or mixed up with
 * another version's. Who wants another unit writes a drop-in, which systemd
 * shows and the collector digests.
 */

struct template
{
	const char *name; /* its file in systemd/ */
	/* Where the result goes, below the folder asked for; may hold variables. */
	const char *path;
	const char *start, *end;
};

#define TEMPLATES_COUNT 9

extern const struct template templates[TEMPLATES_COUNT];

#endif
