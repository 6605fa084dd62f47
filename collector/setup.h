/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A site, its endpoints and a collection's configuration, made for this host. */
#ifndef COLLECTOR_SETUP_H
#define COLLECTOR_SETUP_H

#include <stdbool.h>

#include "common/buffer.h"
#include "policy/collection.h"
#include "policy/profile.h"
#include "policy/site.h"

/*
 * Theory of operation
 *
 * Everything that a host tells is taken from it: the folder that this program lies in,
 * the release beside it, machine and boot, addresses and ports that nobody uses, units
 * and accounts named after the site. What only the operator can know is an option: what
 * the worker may reach. What is written is read back by the decoders that will read it,
 * and by the rules for units, before a single file is made; no file is ever replaced.
 */

enum setup_part {
	SETUP_SITE = 1 << 0,
	SETUP_ENDPOINTS = 1 << 1,
	SETUP_COLLECTION = 1 << 2,
	SETUP_ALL = SETUP_SITE | SETUP_ENDPOINTS | SETUP_COLLECTION,
};

extern const char *const setup_part_names[]; /* in the order of the bits; NULL ends */

struct setup_request {
	unsigned int parts;
	const char *out;     /* the folder for the files */
	const char *name;    /* of the site */
	const char *trusted; /* "ADDRESS:PORT,…", or NULL */
	const char *dns;     /* "ADDRESS,…", or NULL */
	const char *store;
	const char *release;          /* NULL: looked for */
	const char *router_namespace; /* NULL: what the engine's network allows */
};

struct setup_file {
	char path[SITE_PATH_SIZE];
	struct bytes bytes; /* empty: not asked for */
};

struct setup {
	struct setup_file site, endpoints, collection;
	struct buffer notes; /* what each value is, for a person */
};

/* Finds out and makes the documents; nothing is written. A file that is there already
 * is refused, by name. */
int setup_prepare(const struct setup_request *request, struct setup *ret_setup,
		  struct diag *diag);

/* Makes the folder if it is missing, and the files. */
int setup_write(const struct setup_request *request, const struct setup *setup,
		struct diag *diag);

/* Replaces the configuration file by one that says the same of everything but the
 * release, the host and the preflight: those are `config`'s. */
int setup_pin(const char *path, const struct collection *config, struct diag *diag);

void setup_release(struct setup *setup);

/* The folder that this program lies in. */
int setup_find_programs(char ret_folder[SITE_PATH_SIZE], struct diag *diag);

#endif
