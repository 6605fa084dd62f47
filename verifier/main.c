// SPDX-License-Identifier: GPL-2.0-or-later
// net-verify: records and the store that keeps them, judged from files alone.
#include <stdio.h>
#include <string.h>

#include "common/canonical.h"
#include "common/cli.h"
#include "verifier/confine.h"
#include "verifier/fsck.h"
#include "verifier/show.h"

#define FORMAT_OPTION                                                                    \
	{                                                                                \
		"format", "human|json", "how to print it; human if not given", false     \
	}
#define STORE_OPTION                                                                     \
	{                                                                                \
		"store", "DIR", "the store's folder", true                               \
	}

static int parse_format(const struct cli_values *values, bool *ret_is_json,
			struct diag *diag)
{
	const char *format = cli_value(values, "format");

	if (format && strcmp(format, "human") != 0 && strcmp(format, "json") != 0)
		return diag_usage(diag, "--format", "%s is neither human nor json",
				  format);
	*ret_is_json = format && strcmp(format, "json") == 0;
	return 0;
}

static int open_store(const struct cli_values *values, struct store *ret_store,
		      struct diag *diag)
{
	return store_open(cli_value(values, "store"), geteuid(), ret_store, diag);
}

static void print_human(const struct fsck *fsck)
{
	printf("%zu entries: %zu records, %zu preflights, %zu findings\n",
	       fsck->entry_count, fsck->record_count, fsck->preflight_count,
	       fsck->finding_count);
	for (size_t i = 0; i < fsck->finding_count; i++)
		printf("%s: %s: %s\n", fsck->findings[i].name,
		       diag_kind_name(fsck->findings[i].kind), fsck->findings[i].text);
}

static json_t *encode_findings(const struct fsck *fsck)
{
	json_t *findings = json_array();

	for (size_t i = 0; i < fsck->finding_count; i++)
		/* Packing or appending to NULL fails, and is seen by the caller. */
		if (json_array_append_new(
			    findings,
			    json_pack("{s:s, s:b, s:s}", "name", fsck->findings[i].name,
				      "refused", fsck->findings[i].kind == DIAG_REFUSED,
				      "text", fsck->findings[i].text)) != 0) {
			json_decref(findings);
			return NULL;
		}
	return findings;
}

static int print_json(const struct fsck *fsck, struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	OWN(own_json) json_t *root = NULL;
	json_t *findings = encode_findings(fsck);
	int error;

	if (!findings)
		return diag_no_memory(diag);
	root = json_pack("{s:s, s:I, s:I, s:I, s:o}", "schema", "netproof.store_check.v1",
			 "entries", (json_int_t)fsck->entry_count, "records",
			 (json_int_t)fsck->record_count, "preflights",
			 (json_int_t)fsck->preflight_count, "findings", findings);
	if (!root)
		return diag_no_memory(diag);
	error = canonical_write(root, &bytes, diag);
	if (!error)
		printf("%s\n", bytes.data);
	return error;
}

static enum exit_status report_findings(const struct fsck *fsck)
{
	enum exit_status status = fsck_exit_status(fsck);
	struct diag diag = {0};

	if (status == EXIT_STATUS_OK)
		return status;
	if (status == EXIT_STATUS_REFUSED)
		diag_refuse(&diag, "store",
			    "%zu findings in %zu entries; nothing was changed: look at "
			    "each, and restore it from a copy",
			    fsck->finding_count, fsck->entry_count);
	else
		diag_fail(&diag, 0, "store", "%zu of %zu entries could not be examined",
			  fsck->finding_count, fsck->entry_count);
	return cli_report(&diag);
}

static enum exit_status run_store(const struct cli_values *values)
{
	OWN(own_store) struct store store = STORE_CLOSED;
	OWN(own_fsck) struct fsck fsck = {0};
	struct diag diag = {0};
	bool is_json = false;
	int error = parse_format(values, &is_json, &diag);

	if (!error)
		error = confine_verifier(&diag);
	if (!error)
		error = open_store(values, &store, &diag);
	if (!error)
		error = fsck_run(&store, &fsck, &diag);
	if (!error && is_json)
		error = print_json(&fsck, &diag);
	else if (!error)
		print_human(&fsck);
	return error ? cli_report(&diag) : report_findings(&fsck);
}

static int show(const struct cli_values *values, bool is_json, struct diag *diag)
{
	OWN(own_store) struct store store = STORE_CLOSED;
	OWN(own_bytes) struct bytes bytes = {0}, text = {0};
	OWN(own_object) struct object object = {0};
	OWN(own_buffer) struct buffer buffer = {0};
	const char *name = values->operands[0];
	int error = open_store(values, &store, diag);

	if (!error)
		error = store_get(&store, name, STORE_OBJECT_LIMIT, &bytes, diag);
	if (!error)
		error = object_decode(&bytes, name, &object, diag);
	if (error)
		return error;
	if (is_json) {
		/* Exactly the object's bytes: they have its digest. */
		fwrite(bytes.data, 1, bytes.size, stdout);
		return 0;
	}
	show_object(&object, &buffer);
	error = buffer_take(&buffer, &text, diag);
	if (!error)
		fwrite(text.data, 1, text.size, stdout);
	return error;
}

static enum exit_status run_show(const struct cli_values *values)
{
	struct diag diag = {0};
	bool is_json = false;
	int error = parse_format(values, &is_json, &diag);

	if (!error)
		error = confine_verifier(&diag);
	if (!error)
		error = show(values, is_json, &diag);
	return error ? cli_report(&diag) : EXIT_STATUS_OK;
}

static enum exit_status run_record(const struct cli_values *values)
{
	struct diag diag = {0};

	(void)values;
	diag_usage(&diag, "record", "not implemented");
	return cli_report(&diag);
}

int main(int argc, char **argv)
{
	static const struct cli_option options[] = {STORE_OPTION, FORMAT_OPTION};
	static const struct cli_command commands[] = {
		{.name = "record",
		 .operands = "SHA256...",
		 .operands_min = 1,
		 .operands_max = CLI_OPERANDS_MAX,
		 .summary = "judges records: not implemented",
		 .options = options,
		 .option_count = ARRAY_SIZE(options),
		 .run = run_record},
		{.name = "store",
		 .summary = "examines every entry of a store; repairs nothing",
		 .options = options,
		 .option_count = ARRAY_SIZE(options),
		 .run = run_store},
		{.name = "show",
		 .operands = "SHA256",
		 .operands_min = 1,
		 .operands_max = 1,
		 .summary = "prints a record or preflight as it is, without a verdict",
		 .options = options,
		 .option_count = ARRAY_SIZE(options),
		 .run = run_show},
	};
	static const struct cli_program program = {
		.name = "net-verify",
		.summary = "judges evidence, from files alone",
		.commands = commands,
		.command_count = ARRAY_SIZE(commands),
	};

	return cli_main(&program, argc, argv);
}
