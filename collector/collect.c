// SPDX-License-Identifier: GPL-2.0-or-later
// A whole collection, and the recovery of one that was cut short.
#include "collector/collect.h"

#include <errno.h>
#include <string.h>

#include "collector/bindings.h"
#include "collector/ending.h"
#include "collector/inspect.h"
#include "collector/lock.h"
#include "collector/phases.h"
#include "collector/rules.h"
#include "common/store.h"

static int take_lock(struct session *session, struct diag *diag)
{
	bool exists;
	int error = lock_open_folder(&session->folder_fd, diag);

	if (!error)
		error = lock_take(session->folder_fd, &session->lock_fd, diag);
	if (!error)
		error = journal_exists(session->folder_fd, &exists, diag);
	if (!error && exists)
		error = diag_refuse(diag, LOCK_FOLDER "/journal",
				    "an earlier collection was cut short; run "
				    "'net-collector recover' first");
	return error;
}

/* Everything that was made is taken back, and what is left is measured. */
static int end(struct session *session, struct collect_result *result, struct diag *diag)
{
	struct record_residue *residue = &session->record.residue;
	int error;

	session_step(session, "taking everything back");
	error = ending_undo(session, diag);
	if (!error) {
		session_step(session, "measuring what is left");
		error = ending_measure(session, residue, diag);
	}
	if (error)
		return error;
	result->is_clean = ending_is_clean(session, residue);
	if (!result->is_clean) {
		ending_explain(residue, &result->residue);
		return 0;
	}
	return journal_remove(&session->journal, diag);
}

static int check_same_host(struct session *session, struct diag *diag)
{
	const struct record_residue *residue = &session->record.residue;
	char foreign[DIGEST_TEXT_SIZE];
	int error;

	if (strcmp(residue->daemon_sha256, session->daemon_sha256) != 0)
		return diag_refuse(diag, "container engine",
				   "its identity changed during the collection; leave it "
				   "alone, take a new preflight");
	if (strcmp(residue->boot_id, session->host.boot_id) != 0)
		return diag_refuse(
			diag, "boot",
			"its id changed during the collection; take a new preflight");
	error = rules_read_foreign(session, true, foreign, diag);
	if (!error)
		error = rules_check_same_foreign(session, foreign, diag);
	return error ? error : session_check_clock(session, diag);
}

/* What the bindings found of the programs and the proxy must still be so: what was
 * observed in between, was observed of them. */
static int check_same_programs(struct session *session, struct diag *diag)
{
	struct release_programs programs;
	struct unit_state proxy;
	int error = inspect_programs(session, &programs, diag);

	return error ? error : inspect_proxy(session, &proxy, diag);
}

static int keep_record(struct session *session, struct collect_result *result,
		       struct diag *diag)
{
	OWN(own_store) struct store store = STORE_CLOSED;
	OWN(own_bytes) struct bytes bytes = {0};
	bool is_new;
	int error;

	session->record.completed_at_unix = session_now();
	error = record_write(&session->record, &bytes, diag);
	if (!error)
		error = store_open(session->config.store, 0, &store, diag);
	if (!error)
		error = store_put(&store, bytes.data, bytes.size, result->record_sha256,
				  &is_new, diag);
	return error;
}

static int collect(struct session *session, struct collect_result *result,
		   struct diag *diag)
{
	struct diag ending = {0};
	int error = journal_create(session->folder_fd, session->config.site,
				   &session->journal, diag);
	int failed;

	if (error)
		return error;
	session_note_clock(session);
	session->record.started_at_unix = session_now();
	error = phases_run(session, diag);
	if (error)
		session_add_leaks(session, diag);
	failed = end(session, result, &ending);
	if (error) {
		if (failed)
			result->residue = ending;
		return error;
	}
	if (failed) {
		*diag = ending;
		session_add_leaks(session, diag);
		return failed;
	}
	error = check_same_host(session, diag);
	if (!error)
		error = check_same_programs(session, diag);
	if (!error) {
		session_step(session, "keeping the record");
		error = keep_record(session, result, diag);
	}
	if (error) {
		session_add_leaks(session, diag);
		return error;
	}
	record_count_probes(&session->record, &result->probes, &result->good);
	return 0;
}

int collect_network(struct session *session, const char *config_path, bool is_dry,
		    struct collect_result *ret_result, struct diag *diag)
{
	struct collect_result result = {.is_clean = true};
	int error = take_lock(session, diag);

	if (!error)
		error = bindings_check(session, config_path, diag);
	if (!error && !is_dry)
		error = collect(session, &result, diag);
	*ret_result = result;
	return error;
}

int collect_recover(struct session *session, bool *ret_found, struct diag *diag)
{
	struct collect_result result = {.is_clean = false};
	int error = lock_open_folder(&session->folder_fd, diag);

	if (!error)
		error = lock_take(session->folder_fd, &session->lock_fd, diag);
	if (!error)
		error = journal_open(session->folder_fd, &session->journal, ret_found,
				     diag);
	if (error || !*ret_found)
		return error;
	/* A power cut between making the file and its first line: nothing was made. */
	if (!session->journal.count)
		return journal_remove(&session->journal, diag);
	if (session->journal.entries[0].kind != JOURNAL_SITE)
		return diag_refuse(diag, LOCK_FOLDER "/journal",
				   "does not name its site; undo by hand what it lists, "
				   "then remove it");
	error = site_read(session->journal.entries[0].name, 0, &session->site,
			  session->site_sha256, diag);
	if (!error)
		error = layout_of_site(&session->site, session->journal.entries[0].name,
				       &session->layout, diag);
	if (!error)
		error = inspect_account(session, diag);
	if (!error)
		error = inspect_ranges(session, diag);
	if (!error)
		error = end(session, &result, diag);
	if (!error && !result.is_clean)
		error = ending_explain(&session->record.residue, diag);
	return error;
}
