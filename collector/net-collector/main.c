// SPDX-License-Identifier: GPL-2.0-or-later
// net-collector: collects the evidence of one network enforcement window.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/collect.h"
#include "collector/doctor.h"
#include "collector/eventlog.h"
#include "collector/setup.h"
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

static void no_phase(void *context, const char *phase)
{
	(void)context;
	(void)phase;
}

static void no_probe(void *context, const struct record_probe *probe, size_t done,
		     size_t all, int64_t seconds_left)
{
	(void)context;
	(void)probe;
	(void)done;
	(void)all;
	(void)seconds_left;
}

static const struct progress forms[] = {
	[PROGRESS_PLAIN] = {plain_phase, plain_probe, plain_step, NULL},
	[PROGRESS_JSON] = {json_phase, json_probe, json_step, NULL},
	[PROGRESS_NONE] = {no_phase, no_probe, NULL, NULL},
};

/* Whatever standard error is told, the journal is told, too. */
struct audience {
	struct eventlog log;
	struct progress form;
};

static void tell_phase(void *context, const char *phase)
{
	struct audience *audience = context;

	audience->form.on_phase(NULL, phase);
	eventlog_phase(&audience->log, phase);
}

static void tell_probe(void *context, const struct record_probe *probe, size_t done,
		       size_t all, int64_t seconds_left)
{
	struct audience *audience = context;

	audience->form.on_probe(NULL, probe, done, all, seconds_left);
	eventlog_probe(&audience->log, probe);
}

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
		return diag_refuse(diag, "--confirm",
				   "is not the phrase '%s'; give it in full",
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
	struct audience audience = {.log = {.fd = -1}};
	enum exit_status status;
	struct diag diag = {0};
	int error = session ? check_call(values, &diag) : diag_no_memory(&diag);

	if (!error)
		error = choose_progress(cli_value(values, "progress"), &audience.form,
					&diag);
	if (error)
		return cli_report(&diag);
	session->progress = (struct progress){tell_phase, tell_probe,
					      audience.form.on_step, &audience};
	/* Before session_open(), which confines. A dry run collects nothing. */
	if (!is_dry)
		eventlog_open(&audience.log);
	error = session_open(session, &diag);
	eventlog_begin(&audience.log, session->run);
	if (!error)
		error = collect_network(session, cli_value(values, "config"), is_dry,
					&result, &diag);
	tell_residue(&result.residue);
	status = error ? cli_report(&diag) : finish_network(&result, is_dry, session);
	if (error)
		eventlog_refusal(&audience.log, &diag);
	else
		eventlog_end(&audience.log, result.record_sha256, result.good,
			     result.probes, result.is_clean);
	eventlog_close(&audience.log);
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

/* --- init and doctor ---------------------------------------------------------------- */

/* The bits that a list of names stands for; all if there is none. */
static int read_parts(const char *list, unsigned int *ret_parts, struct diag *diag)
{
	*ret_parts = list ? 0 : SETUP_ALL;
	while (list && *list) {
		size_t length = strcspn(list, ","), i = 0;

		while (setup_part_names[i] &&
		       (strlen(setup_part_names[i]) != length ||
			strncmp(setup_part_names[i], list, length) != 0))
			i++;
		if (!setup_part_names[i])
			return diag_usage(diag, "--only",
					  "\"%.*s\" is none of site, endpoints, "
					  "collection",
					  (int)length, list);
		*ret_parts |= 1U << i;
		list += length + (list[length] == ',');
	}
	return 0;
}

static const char *value_or(const struct cli_values *values, const char *option,
			    const char *otherwise)
{
	const char *value = cli_value(values, option);

	return value ? value : otherwise;
}

static int init(const struct cli_values *values, struct setup *setup, struct diag *diag)
{
	struct setup_request request = {
		.out = value_or(values, "out", "/etc/netproof"),
		.name = value_or(values, "name", "netproof"),
		.trusted = cli_value(values, "trusted"),
		.dns = cli_value(values, "dns"),
		.store = value_or(values, "store", "/var/lib/netproof-evidence"),
		.release = cli_value(values, "release"),
		.router_namespace = cli_value(values, "router-namespace"),
	};
	OWN(own_bytes) struct bytes notes = {0};
	bool is_dry = cli_value(values, "dry-run");
	int error = read_parts(cli_value(values, "only"), &request.parts, diag);

	if (!error && geteuid() != 0)
		error = diag_refuse(diag, NULL, "not root: run it as root");
	if (!error)
		error = setup_prepare(&request, setup, diag);
	if (!error)
		error = buffer_take(&setup->notes, &notes, diag);
	if (!error && !is_dry)
		error = setup_write(&request, setup, diag);
	if (error)
		return error;
	fputs(notes.data, stdout);
	if (is_dry)
		fprintf(stderr, "net-collector: nothing was written\n");
	else
		fprintf(stderr,
			"net-collector: written; next: net-collector doctor --config "
			"%s\n",
			setup->collection.path);
	return 0;
}

static enum exit_status run_init(const struct cli_values *values)
{
	OWN(setup_release) struct setup setup = {0};
	struct diag diag = {0};

	return init(values, &setup, &diag) ? cli_report(&diag) : EXIT_STATUS_OK;
}

static const struct style_rule doctor_rules[] = {
	{STYLE_LINE, "# ", STYLE_DOUBT},
	{STYLE_AFTER, "  # ", STYLE_FAINT},
};

static enum exit_status tell_lines(struct doctor *doctor)
{
	OWN(own_bytes) struct bytes lines = {0};
	struct diag diag = {0};

	if (buffer_take(&doctor->lines, &lines, &diag) != 0)
		return cli_report(&diag);
	cli_print(stdout, lines.data, doctor_rules, ARRAY_SIZE(doctor_rules));
	if (!doctor->standing && !doctor->undecided) {
		fprintf(stderr, "net-collector: nothing stands between this host and a "
				"collection\n");
		return EXIT_STATUS_OK;
	}
	fprintf(stderr,
		"net-collector: %zu still to do, %zu could not be told, %zu more checks "
		"wait for these\n",
		doctor->standing, doctor->undecided, doctor->unseen);
	return doctor->standing ? EXIT_STATUS_DIFFERENT : EXIT_STATUS_UNDECIDED;
}

static enum exit_status run_doctor(const struct cli_values *values)
{
	OWN(own_pointer) struct session *session = calloc(1, sizeof(*session));
	struct doctor doctor = {
		.session = session,
		.config_path =
			value_or(values, "config", "/etc/netproof/collection.json"),
		.trusted = cli_value(values, "trusted"),
	};
	struct diag diag = {0};
	enum exit_status status;
	int error = session ? 0 : diag_no_memory(&diag);

	if (!error && geteuid() != 0)
		error = diag_refuse(&diag, NULL, "not root: run it as root");
	if (error)
		return cli_report(&diag);
	error = session_open(session, &diag);
	if (!error)
		error = doctor_look(&doctor, &diag);
	status = error ? cli_report(&diag) : tell_lines(&doctor);
	own_buffer(&doctor.lines);
	session_close(session);
	return status;
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
	{"dry-run", NULL, "check everything, start or write nothing", false},
};

static const struct cli_option init_options[] = {
	{"out", "DIR", "where the files go (/etc/netproof)", false},
	{"trusted", "LIST", "what the worker may reach: ADDRESS:PORT, with commas",
	 false},
	{"dns", "LIST", "resolvers that it may ask (none)", false},
	{"name", "NAME", "what all of it is named after (netproof)", false},
	{"release", "FILE", "the release file, if it is not beside the programs", false},
	{"store", "DIR", "where evidence is kept (/var/lib/netproof-evidence)", false},
	{"router-namespace", "PLACE", "host or rootless-netns (the default)", false},
	{"only", "LIST", "of site, endpoints, collection: those alone", false},
	{"dry-run", NULL, "check everything, start or write nothing", false},
};

static const struct cli_option doctor_options[] = {
	{"config", "FILE", "the collection's configuration, a protected path", false},
	{"trusted", "LIST", "what the worker may reach: ADDRESS:PORT, with commas",
	 false},
};

static const struct cli_command commands[] = {
	{"init", NULL, 0, 0, "writes site, endpoints and configuration for this host",
	 init_options, ARRAY_SIZE(init_options), run_init},
	{"doctor", NULL, 0, 0, "says what to do before a collection, changing nothing",
	 doctor_options, ARRAY_SIZE(doctor_options), run_doctor},
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
