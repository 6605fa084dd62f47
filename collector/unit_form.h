/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a unit is made of: its commands, its effective properties, its files. */
#ifndef COLLECTOR_UNIT_FORM_H
#define COLLECTOR_UNIT_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/unit_rules.h"
#include "collector/units.h"
#include "common/diag.h"
#include "common/digest.h"

#define UNIT_EXEC_MAX 8
#define UNIT_ARGV_MAX 16
#define UNIT_FLAGS_SIZE 64

/* A unit that nobody writes: its properties are systemd's defaults. */
#define UNIT_FORM_NOTHING "there-is-no-such-unit.service"

/* One command line of a unit. */
struct unit_exec {
	char argv[UNIT_ARGV_MAX][UNITS_PATH_SIZE];
	size_t argc;
	/* systemd's words, blanks between them: "privileged" for "+", "ignore-failure"
	 * for "-" … */
	char flags[UNIT_FLAGS_SIZE];
};

struct unit_execs {
	struct unit_exec lines[UNIT_EXEC_MAX];
	size_t count;
};

enum unit_command {
	UNIT_CONDITION,
	UNIT_START_PRE,
	UNIT_START,
	UNIT_START_POST,
	UNIT_RELOAD,
	UNIT_STOP,
	UNIT_STOP_POST,
	UNIT_COMMAND_COUNT
};

/* "ExecCondition" and so on. */
extern const char *const unit_command_names[UNIT_COMMAND_COUNT];

/* About 350 KiB. */
struct unit_form {
	char fragment[UNITS_PATH_SIZE];
	bool needs_reload; /* the files on disk are newer than what is loaded */
	struct unit_execs execs[UNIT_COMMAND_COUNT];
	char sha256[DIGEST_TEXT_SIZE]; /* of commands, digested properties and files */
};

/* Reads a service, loaded if it was not. Its properties (unless `ret_properties` is NULL)
 * are text that is the same for the same value: texts in double quotes with '\\' before
 * '"' and '\\', lists in [], structures in (), the rest as usual. */
int unit_form_read(struct units *units, const char *name, struct unit_form *ret_form,
		   struct unit_properties *ret_properties, struct diag *diag);

/* The digest of a unit's file or drop-in, links on the way to it followed as systemd
 * does: refuses one that somebody else than root could change. */
int unit_form_digest_file(const char *path, char ret_sha256[DIGEST_TEXT_SIZE],
			  struct diag *diag);

/* Its properties alone. */
int unit_form_read_properties(struct units *units, const char *name,
			      struct unit_properties *ret_properties, struct diag *diag);

/* The properties of a service of which nothing is said: this systemd's defaults. */
int unit_form_read_defaults(struct units *units, struct unit_properties *ret_properties,
			    struct diag *diag);

/* Refuses unless the commands of one kind are exactly `wanted`: `count` lines, each of
 * arguments up to a NULL, the first with "+" before it for one that is exempt from the
 * unit's limits. No other flag is right. */
int unit_form_check_commands(const char *unit, const struct unit_form *form,
			     enum unit_command command,
			     const char *const (*wanted)[UNIT_ARGV_MAX], size_t count,
			     struct diag *diag);

#endif
