/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a collection is about to make, durable before it is made. */
#ifndef COLLECTOR_JOURNAL_H
#define COLLECTOR_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/diag.h"
#include "common/json_table.h"

/*
 * Theory of operation
 *
 * One file, one line of JSON for each thing, appended and synced before the thing
 * exists. Undoing walks the lines backwards; undoing what was never made, or twice,
 * is harmless, so nothing is ever struck out and a torn last line means a thing
 * that was not made. The file goes away when all is undone and measured.
 *
 * The first line says for which site: recover needs nothing else.
 */

enum journal_kind {
	JOURNAL_SITE,      /* name: the site file's path */
	JOURNAL_WORKER,    /* name: the worker unit, about to be started */
	JOURNAL_USER_UNIT, /* name: a transient unit of the workload user's manager */
	JOURNAL_CONTAINER, /* name: a container */
	JOURNAL_NETWORK,   /* name: a network of the engine */
	JOURNAL_FOLDER,    /* name: a folder of ours, with all in it */
	JOURNAL_FILE,      /* name: a file of ours */
	JOURNAL_KIND_COUNT,
};

extern const char *const journal_kind_names[];

#define JOURNAL_NAME_SIZE 512
#define JOURNAL_ENTRIES_MAX 64

struct journal_entry {
	int kind;
	char name[JOURNAL_NAME_SIZE];
};

struct journal {
	int folder_fd; /* borrowed */
	int fd;        /* -1: none open */
	struct journal_entry entries[JOURNAL_ENTRIES_MAX];
	size_t count;
};

#define JOURNAL_INIT                                                                     \
	{                                                                                \
		.folder_fd = -1, .fd = -1                                                \
	}

/* Whether a collection left its journal in the folder. */
int journal_exists(int folder_fd, bool *ret_exists, struct diag *diag);

/* Starts one for the site file `site_path`; one that is there is a refusal which
 * says what to do. */
int journal_create(int folder_fd, const char *site_path, struct journal *ret_journal,
		   struct diag *diag);

/* Reads the one that is there. `*ret_found` false: there is none. */
int journal_open(int folder_fd, struct journal *ret_journal, bool *ret_found,
		 struct diag *diag);

/* Notes that the thing is about to be made; durable when it returns 0. */
int journal_note(struct journal *journal, enum journal_kind kind, const char *name,
		 struct diag *diag);

/* Removes the file: everything is undone. */
int journal_remove(struct journal *journal, struct diag *diag);

void journal_close(struct journal *journal);

#endif
