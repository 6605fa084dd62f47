// SPDX-License-Identifier: GPL-2.0-or-later
// net-verify: records and the store that keeps them, judged from files alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/canonical.h"
#include "common/cli.h"
#include "verifier/confine.h"
#include "verifier/fsck.h"
#include "verifier/judge.h"
#include "verifier/report.h"
#include "verifier/show.h"
#include "verifier/statement.h"

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

/* --- record ------------------------------------------------------------------------ */

/* What judging several records came to. None is folded into another: a refusal is
 * said before anything else, then what could not be told, then what the records say
 * of the host. */
struct outcome {
	bool has_refused, has_undecided, has_different;
};

static enum exit_status outcome_status(const struct outcome *outcome)
{
	if (outcome->has_refused)
		return EXIT_STATUS_REFUSED;
	if (outcome->has_undecided)
		return EXIT_STATUS_UNDECIDED;
	return outcome->has_different ? EXIT_STATUS_DIFFERENT : EXIT_STATUS_OK;
}

static void count_outcome(const struct verdict *verdict, struct outcome *outcome)
{
	switch (verdict->judgement) {
	case JUDGEMENT_VERIFIED:
		break;
	case JUDGEMENT_REFUSED:
		outcome->has_refused = true;
		break;
	case JUDGEMENT_UNMATCHED:
	case JUDGEMENT_INCONCLUSIVE:
		outcome->has_different = true;
		break;
	}
}

struct judging {
	const struct store *store;
	const struct case_files *files;
	const struct report_format *format;
	bool is_statement;
	struct buffer out;
	struct outcome outcome;
};

static void release_judging(struct judging *judging)
{
	own_buffer(&judging->out);
}

static int add_statement(struct judging *judging, const struct verify_case *case_,
			 const struct verdict *verdict, struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error = statement_write(case_, verdict, &bytes, diag);

	if (error)
		return error;
	buffer_add(&judging->out, bytes.data, bytes.size);
	buffer_add_byte(&judging->out, '\n');
	return 0;
}

/* Judges one record and adds its entry. What could not be told of it is in its entry,
 * and the others are judged all the same. */
static void judge_one(struct judging *judging, const char *sha256, size_t index)
{
	OWN(own_pointer) struct verify_case *case_ = calloc(1, sizeof(*case_));
	OWN(verdict_release) struct verdict verdict = {0};
	struct diag diag = {0};
	struct report_entry entry = {.record_sha256 = sha256, .undecided = &diag};
	int error = case_ ? judge_record(sha256, judging->store, judging->files, case_,
					 &verdict, &diag)
			  : diag_no_memory(&diag);

	if (!error) {
		count_outcome(&verdict, &judging->outcome);
		entry.case_ = case_;
		entry.verdict = &verdict;
	} else {
		judging->outcome.has_undecided = true;
	}
	if (!judging->is_statement) {
		judging->format->add(&judging->out, &entry, index);
		return;
	}
	/* Of one that is not verified there is no statement; standard error says why. */
	if (!error && add_statement(judging, case_, &verdict, &diag) != 0)
		judging->outcome.has_undecided |= diag.kind != DIAG_REFUSED;
	if (diag.kind != DIAG_NONE)
		cli_report(&diag);
}

/* What a person looks for in the report for people; the other formats have no such
 * lines. */
static const struct style_rule human_rules[] = {
	{STYLE_END, " LEAK", STYLE_BAD},
	{STYLE_END, " unmatched", STYLE_BAD},
	{STYLE_END, " inconclusive", STYLE_DOUBT},
	{STYLE_END, " ok", STYLE_GOOD},
	{STYLE_END, ": verified", STYLE_GOOD},
	{STYLE_END, ": refused", STYLE_BAD},
	{STYLE_END, ": could not tell", STYLE_DOUBT},
	{STYLE_LINE, "    next: ", STYLE_TITLE},
};

static int print_buffer(struct buffer *buffer, bool is_human, struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	int error = buffer_take(buffer, &text, diag);

	if (!error)
		cli_print(stdout, text.data, human_rules,
			  is_human ? ARRAY_SIZE(human_rules) : 0);
	return error;
}

static int judge_all(const struct cli_values *values, struct judging *judging,
		     struct diag *diag)
{
	const struct report_format *format = judging->format;
	bool is_human = format == report_formats[0] && !judging->is_statement;

	if (!judging->is_statement && format->begin)
		format->begin(&judging->out, values->operand_count);
	for (size_t i = 0; i < values->operand_count; i++) {
		int error;

		judge_one(judging, values->operands[i], i);
		/* A thousand reports need no more memory than one. */
		error = print_buffer(&judging->out, is_human, diag);
		if (error)
			return error;
	}
	if (!judging->is_statement && format->end)
		format->end(&judging->out);
	return print_buffer(&judging->out, is_human, diag);
}

/* A name that is no digest, or no such format, is a mistake in the command line. */
static int parse_record_options(const struct cli_values *values, struct judging *judging,
				struct diag *diag)
{
	const char *format = cli_value(values, "format");
	const char *export = cli_value(values, "export");

	for (size_t i = 0; i < values->operand_count; i++)
		if (!digest_is_text(values->operands[i]))
			return diag_usage(diag, values->operands[i],
					  "not 64 lower-case hexadecimal digits");
	if (!digest_is_text(cli_value(values, "post")))
		return diag_usage(diag, "--post", "not 64 lower-case hexadecimal digits");
	if (export && strcmp(export, "in-toto") != 0)
		return diag_usage(diag, "--export", "%s is not in-toto", export);
	if (export && format)
		return diag_usage(diag, "--export", "--format does not go with it");
	judging->is_statement = export != NULL;
	judging->format = format ? report_find(format) : report_formats[0];
	if (!judging->format)
		return diag_usage(diag, "--format", "%s is none of " REPORT_FORMAT_NAMES,
				  format);
	return 0;
}

static enum exit_status run_record(const struct cli_values *values)
{
	const struct case_pins pins = {.profile = cli_value(values, "profile"),
				       .site = cli_value(values, "site"),
				       .release = cli_value(values, "release"),
				       .post_sha256 = cli_value(values, "post")};
	OWN(own_pointer) struct case_files *files = calloc(1, sizeof(*files));
	OWN(release_judging) struct judging judging = {.files = files};
	OWN(own_store) struct store store = STORE_CLOSED;
	struct diag diag = {0};
	int error = parse_record_options(values, &judging, &diag);

	if (!error && !files)
		error = diag_no_memory(&diag);
	if (!error)
		error = confine_verifier(&diag);
	if (!error)
		error = open_store(values, &store, &diag);
	judging.store = &store;
	if (!error)
		error = case_read_files(&pins, &store, geteuid(), files, &diag);
	if (!error)
		error = judge_all(values, &judging, &diag);
	if (files)
		case_release_files(files);
	return error ? cli_report(&diag) : outcome_status(&judging.outcome);
}

int main(int argc, char **argv)
{
	static const struct cli_option options[] = {STORE_OPTION, FORMAT_OPTION};
	static const struct cli_option record_options[] = {
		STORE_OPTION,
		{"profile", "FILE", "the profile that was in force", true},
		{"site", "FILE", "the site file of the host", true},
		{"release", "FILE", "the release that collected", true},
		{"post", "SHA256", "the preflight made after the collection", true},
		{"format", REPORT_FORMAT_NAMES, "how to print it; human if not given",
		 false},
		{"export", "in-toto", "print an unsigned statement instead", false},
	};
	static const struct cli_command commands[] = {
		{.name = "record",
		 .operands = "SHA256...",
		 .operands_min = 1,
		 .operands_max = CLI_OPERANDS_MAX,
		 .summary = "judges each record from the store and the pinned files",
		 .options = record_options,
		 .option_count = ARRAY_SIZE(record_options),
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
