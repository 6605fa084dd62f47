// SPDX-License-Identifier: GPL-2.0-or-later
// Reads one document of a named format on standard input, and writes it again.
// "format_tool catalog-builtin" writes the program's own catalog.
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
#include "tests/formats/format_policy.h"

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
FORMAT(profile)
FORMAT(record)
FORMAT(release)
FORMAT(site)
FORMAT(targets)

static int parse_endpoints(const struct bytes *bytes, void *ret_object, struct diag *diag)
{
	return profile_parse_endpoints(bytes->data, bytes->size, "endpoints", ret_object,
				       diag);
}

static int write_endpoints(const void *object, struct bytes *ret_bytes, struct diag *diag)
{
	return endpoints_write(object, ret_bytes, diag);
}

static const struct format formats[] = {
	{"catalog", sizeof(struct catalog), parse_catalog, write_catalog},
	{"collection", sizeof(struct collection), parse_collection, write_collection},
	{"endpoints", sizeof(struct profile_endpoints), parse_endpoints, write_endpoints},
	{"preflight", sizeof(struct preflight), parse_preflight, write_preflight},
	{"profile", sizeof(struct profile), parse_profile, write_profile},
	{"record", sizeof(struct record), parse_record, write_record},
	{"release", sizeof(struct release), parse_release, write_release},
	{"site", sizeof(struct site), parse_site, write_site},
	{"targets", sizeof(struct targets), parse_targets, write_targets},
};

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

static int convert(const struct format *format, const struct bytes *bytes,
		   struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_pointer) void *object = calloc(1, format->size);
	int error;

	if (!object)
		return diag_no_memory(diag);
	error = format->parse(bytes, object, diag);
	return error ? error : format->write(object, ret_bytes, diag);
}

/* Documents, each behind its size in four bytes of the machine's order; for each
 * one line: "same", "other bytes", or the refusal. */
static enum exit_status serve(const struct format *format)
{
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	uint32_t size;

	while (fread(&size, sizeof(size), 1, stdin) == 1) {
		OWN(own_bytes) struct bytes bytes = {malloc(size + 1), size}, again = {0};
		struct diag diag = {0};

		if (!bytes.data || fread(bytes.data, 1, size, stdin) != size)
			return EXIT_STATUS_UNDECIDED;
		if (convert(format, &bytes, &again, &diag) != 0)
			puts(diag_render(&diag, line, sizeof(line)));
		else
			puts(again.size == size &&
					     memcmp(again.data, bytes.data, size) == 0
				     ? "same"
				     : "other bytes");
		fflush(stdout);
	}
	return EXIT_STATUS_OK;
}

static enum exit_status run(const struct cli_values *values)
{
	const struct format *format = find_format(values->operands[0]);
	OWN(own_bytes) struct bytes bytes = {0}, again = {0};
	struct diag diag = {0};
	int error;

	if (strcmp(values->operands[0], "catalog-builtin") == 0) {
		error = catalog_write(catalog_builtin(), &again, &diag);
	} else if (!format) {
		error = diag_usage(&diag, values->operands[0], "no such format");
	} else if (cli_value(values, "serve")) {
		return serve(format);
	} else {
		error = protected_read_fd(STDIN_FILENO, INPUT_LIMIT, "stdin", &bytes,
					  &diag);
		if (!error)
			error = convert(format, &bytes, &again, &diag);
	}
	if (error)
		return cli_report(&diag);
	fwrite(again.data, 1, again.size, stdout);
	return EXIT_STATUS_OK;
}

int main(int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"serve", NULL, "many documents, each behind its size", false},
	};
	static const struct cli_command commands[] = {
		{.operands = "FORMAT",
		 .operands_min = 1,
		 .operands_max = 1,
		 .summary = "reads a document on standard input, and writes it again",
		 .options = options,
		 .option_count = ARRAY_SIZE(options),
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
