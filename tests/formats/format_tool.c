// SPDX-License-Identifier: GPL-2.0-or-later
// Reads one document of a named format on standard input, and writes it again.
// "format_tool catalog-builtin" writes the program's own catalog.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "common/protected.h"
#include "policy/catalog.h"
#include "policy/collection.h"
#include "policy/preflight.h"
#include "policy/record.h"
#include "policy/release.h"
#include "policy/targets.h"

#define INPUT_LIMIT (1024 * 1024)

/* One format: its struct's size, and the two ways. */
struct format {
	const char *name;
	size_t size;
	int (*parse)(const struct bytes *bytes, void *ret_object, struct diag *diag);
	int (*write)(const void *object, struct bytes *ret_bytes, struct diag *diag);
};

#define FORMAT(name_)                                                                    \
	static int parse_##name_(const struct bytes *bytes, void *ret_object,            \
				 struct diag *diag)                                      \
	{                                                                                \
		return name_##_parse(bytes->data, bytes->size, #name_, ret_object,       \
				     diag);                                              \
	}                                                                                \
	static int write_##name_(const void *object, struct bytes *ret_bytes,            \
				 struct diag *diag)                                      \
	{                                                                                \
		return name_##_write(object, ret_bytes, diag);                           \
	}

FORMAT(catalog)
FORMAT(collection)
FORMAT(preflight)
FORMAT(record)
FORMAT(release)
FORMAT(targets)

static const struct format formats[] = {
	{"catalog", sizeof(struct catalog), parse_catalog, write_catalog},
	{"collection", sizeof(struct collection), parse_collection, write_collection},
	{"preflight", sizeof(struct preflight), parse_preflight, write_preflight},
	{"record", sizeof(struct record), parse_record, write_record},
	{"release", sizeof(struct release), parse_release, write_release},
	{"targets", sizeof(struct targets), parse_targets, write_targets},
};

static int convert(const char *name, struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_pointer) void *object = NULL;
	OWN(own_bytes) struct bytes bytes = {0};
	int error;

	if (strcmp(name, "catalog-builtin") == 0)
		return catalog_write(catalog_builtin(), ret_bytes, diag);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, name) != 0)
			continue;
		object = calloc(1, formats[i].size);
		if (!object)
			return diag_no_memory(diag);
		error = protected_read_fd(STDIN_FILENO, INPUT_LIMIT, "stdin", &bytes,
					  diag);
		if (!error)
			error = formats[i].parse(&bytes, object, diag);
		return error ? error : formats[i].write(object, ret_bytes, diag);
	}
	return diag_usage(diag, name, "no such format");
}

static enum exit_status run(const struct cli_values *values)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	if (convert(values->operands[0], &bytes, &diag) != 0)
		return cli_report(&diag);
	fwrite(bytes.data, 1, bytes.size, stdout);
	return EXIT_STATUS_OK;
}

int main(int argc, char **argv)
{
	static const struct cli_command commands[] = {
		{.operands = "FORMAT",
		 .operands_min = 1,
		 .operands_max = 1,
		 .summary = "reads a document on standard input, and writes it again",
		 .run = run},
	};
	static const struct cli_program program = {
		.name = "format_tool",
		.summary = "the formats' decoders and encoders, for tests",
		.commands = commands,
		.command_count = 1,
	};

	return cli_main(&program, argc, argv);
}
