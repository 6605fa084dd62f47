// SPDX-License-Identifier: GPL-2.0-or-later
// net-collector: collects the evidence of one network enforcement window.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/collect.h"
#include "common/cli.h"

/* --- progress ----------------------------------------------------------------------- */

enum progress_form { PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };

static const char *const progress_names[] = {"plain", "json", "none"};

static const struct style_rule progress_rules[] = {
	{STYLE_AFTER, ", not matched (", STYLE_BAD},
	{STYLE_AFTER, ", not conclusive (", STYLE_DOUBT},
	{STYLE_AFTER, ", ok (", STYLE_GOOD},
	{STYLE_LINE, "net-collector: phase ", STYLE_TITLE},
};

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	cli_print(stderr, line, progress_rules, ARRAY_SIZE(progress_rules));
}

static void plain_phase(void *context, const char *phase)
{
	(void)context;
	tell("net-collector: phase %s\n", phase);
}

static void plain_probe(void *context, const struct record_probe *probe, size_t done,
			size_t all, int64_t seconds_left)
{
	(void)context;
	tell("net-collector: %zu/%zu %s: expected %s, observed %s, basis %s, %s "
	     "(%lld s to expiry)\n",
	     done, all, probe->id, expectation_names[probe->expect],
	     observed_names[probe->observed], basis_names[probe->basis],
	     probe->matched && probe->conclusive ? "ok"
	     : probe->matched                    ? "not conclusive"
						 : "not matched",
	     (long long)(seconds_left > 0 ? seconds_left : 0));
}

static void plain_step(void *context, const char *step)
{
	(void)context;
	tell("net-collector: %s\n", step);
}

/* What is printed here are names of ours: nothing in them needs an escape. */
static void json_phase(void *context, const char *phase)
{
	(void)context;
	fprintf(stderr, "{\"event\":\"phase\",\"phase\":\"%s\"}\n", phase);
}

static void json_probe(void *context, const struct record_probe *probe, size_t done,
		       size_t all, int64_t seconds_left)
{
	(void)context;
	fprintf(stderr,
		"{\"all\":%zu,\"basis\":\"%s\",\"conclusive\":%s,\"done\":%zu,"
		"\"event\":\"probe\",\"expect\":\"%s\",\"id\":\"%s\",\"matched\":%s,"
		"\"observed\":\"%s\",\"seconds_to_expiry\":%lld}\n",
		all, basis_names[probe->basis], probe->conclusive ? "true" : "false",
		done, expectation_names[probe->expect], probe->id,
		probe->matched ? "true" : "false", observed_names[probe->observed],
		(long long)(seconds_left > 0 ? seconds_left : 0));
}

static void json_step(void *context, const char *step)
{
	(void)context;
	fprintf(stderr, "{\"event\":\"step\",\"step\":\"%s\"}\n", step);
}

static const struct progress forms[] = {
	[PROGRESS_PLAIN] = {plain_phase, plain_probe, plain_step, NULL},
	[PROGRESS_JSON] = {json_phase, json_probe, json_step, NULL},
	[PROGRESS_NONE] = {NULL, NULL, NULL, NULL},
};

static int choose_progress(const char *name, struct progress *ret_progress,
			   struct diag *diag)
{
	if (!name)
		name = progress_names[PROGRESS_PLAIN];
	for (size_t i = 0; i < ARRAY_SIZE(progress_names); i++)
		if (strcmp(name, progress_names[i]) == 0) {
			*ret_progress = forms[i];
			return 0;
		}
	return diag_usage(diag, "--progress", "plain, json or none");
}

/* --- commands ----------------------------------------------------------------------- */

static void print_plan(const struct session *session)
{
	const struct catalog *catalog = catalog_builtin();

	printf("{\"approval_generated\":false,\"dry_run\":true,\"probes\":%zu,\"plan\":[",
	       session->probes_all);
	for (size_t i = 0; i < catalog->probe_count; i++) {
		const struct catalog_probe *probe = &catalog->probes[i];

		printf("%s{\"id\":\"%s\",\"phase\":\"%s\",\"position\":\"%s\",\"times\":%"
		       "zu}",
		       i ? "," : "", probe->id, phase_names[probe->phase],
		       position_names[probe->position],
		       probe->per_endpoint ? session->profile.trusted_tcp_count
					   : (size_t)1);
	}
	printf("]}\n");
}

static void print_result(const struct collect_result *result)
{
	printf("{\"approval_generated\":false,\"good\":%zu,\"probes\":%zu,"
	       "\"record_sha256\":\"%s\",\"residue\":%s}\n",
	       result->good, result->probes, result->record_sha256,
	       result->is_clean ? "false" : "true");
}

static void tell_residue(const struct diag *residue)
{
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE + 4];

	if (residue->kind)
		fprintf(stderr,
			"net-collector: %s; what is left is in the journal: "
			"'net-collector "
			"recover'\n",
			diag_render(residue, line, sizeof(line)));
}

static int check_call(const struct cli_values *values, struct diag *diag)
{
	/* Before anything is read: whoever typed it wrong did not mean it. */
	if (strcmp(cli_value(values, "confirm"), COLLECT_PHRASE) != 0)
		return diag_refuse(diag, "--confirm", "is not the phrase '%s'",
				   COLLECT_PHRASE);
	if (geteuid() != 0)
		return diag_refuse(diag, NULL, "not root: run it as root");
	return 0;
}

static enum exit_status finish_network(const struct collect_result *result, bool is_dry,
				       const struct session *session)
{
	if (is_dry) {
		print_plan(session);
		return EXIT_STATUS_OK;
	}
	print_result(result);
	return result->is_clean && result->probes && result->good == result->probes
		       ? EXIT_STATUS_OK
		       : EXIT_STATUS_DIFFERENT;
}

static enum exit_status run_network(const struct cli_values *values)
{
	OWN(own_pointer) struct session *session = calloc(1, sizeof(*session));
	bool is_dry = cli_value(values, "dry-run");
	struct collect_result result = {.is_clean = true};
	enum exit_status status;
	struct diag diag = {0};
	int error = session ? check_call(values, &diag) : diag_no_memory(&diag);

	if (!error)
		error = choose_progress(cli_value(values, "progress"), &session->progress,
					&diag);
	if (error)
		return cli_report(&diag);
	error = session_open(session, &diag);
	if (!error)
		error = collect_network(session, cli_value(values, "config"), is_dry,
					&result, &diag);
	tell_residue(&result.residue);
	status = error ? cli_report(&diag) : finish_network(&result, is_dry, session);
	session_close(session);
	return status;
}

static enum exit_status run_recover(const struct cli_values *values)
{
	OWN(own_pointer) struct session *session = calloc(1, sizeof(*session));
	struct diag diag = {0};
	bool found = false;
	int error = session ? 0 : diag_no_memory(&diag);

	(void)values;
	if (!error && geteuid() != 0)
		error = diag_refuse(&diag, NULL, "not root: run it as root");
	if (error)
		return cli_report(&diag);
	error = session_open(session, &diag);
	if (!error)
		error = collect_recover(session, &found, &diag);
	session_close(session);
	if (error)
		return cli_report(&diag);
	puts(found ? "{\"approval_generated\":false,\"recovered\":true}"
		   : "{\"approval_generated\":false,\"recovered\":false}");
	return EXIT_STATUS_OK;
}

static enum exit_status run_unimplemented(const struct cli_values *values)
{
	struct diag diag = {0};

	diag_usage(&diag, values->command->name, "not implemented");
	return cli_report(&diag);
}

static const struct cli_option network_options[] = {
	{"config", "FILE", "the collection's configuration, a protected path", true},
	{"confirm", "PHRASE", "\"" COLLECT_PHRASE "\"", true},
	{"progress", "plain|json|none", "on standard error; plain if not given", false},
	{"dry-run", NULL, "check everything, print the plan, start nothing", false},
};

static const struct cli_command commands[] = {
	{"network", NULL, 0, 0, "collects through the four phases, writes one record",
	 network_options, ARRAY_SIZE(network_options), run_network},
	{"recover", NULL, 0, 0, "undoes what a collection that was cut short left", NULL,
	 0, run_recover},
	{"resource", NULL, 0, 0, "not implemented", NULL, 0, run_unimplemented},
	{"preexec", NULL, 0, 0, "not implemented", NULL, 0, run_unimplemented},
	{"cleanup", NULL, 0, 0, "not implemented", NULL, 0, run_unimplemented},
};

static const struct cli_program program = {
	"net-collector", "collects the evidence of one network enforcement window",
	commands, ARRAY_SIZE(commands)};

int main(int argc, char **argv)
{
	return cli_main(&program, argc, argv);
}
