// SPDX-License-Identifier: GPL-2.0-or-later
// Looking at the host's accounts, programs, units, engine and rules.
#include "collector/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "collector/handed.h"
#include "collector/hostview.h"
#include "collector/rules.h"
#include "collector/workload.h"
#include "common/protected.h"
#include "policy/kernel/account.h"
#include "policy/kernel/subuid.h"

enum { PROGRAM_LIMIT = 256 << 20 };

int inspect_account(struct session *session, struct diag *diag)
{
	struct process self = PROCESS_INIT;
	uint32_t uid;
	int error = account_find(&session->site, &uid, diag);

	if (error)
		return error;
	session->uid = uid;
	error = hostview_find_primary_group(uid, &session->gid, diag);
	if (!error)
		error = hostview_find_group(session->layout.worker_group,
					    &session->worker_gid, diag);
	if (!error)
		error = hostview_find_groups("/etc/group", session->site.workload_user,
					     session->groups, SESSION_GROUPS_MAX - 2,
					     &session->group_count, diag);
	if (error)
		return error;
	session->groups[session->group_count++] = session->gid;
	session->groups[session->group_count++] = session->worker_gid;
	error = process_open(getpid(), &self, diag);
	if (!error)
		error = process_measure(&self, &session->self, diag);
	process_close(&self);
	if (!error)
		error = engine_open(&session->site, session->uid, session->gid,
				    &session->decoder, &session->engine, diag);
	return error;
}

int inspect_ranges(struct session *session, struct diag *diag)
{
	int error = subuid_check_switch(SUBUID_NSSWITCH_PATH, diag);

	return error ? error
		     : subuid_read(SUBUID_PATH, session->site.workload_user, session->uid,
				   &session->subjects, diag);
}

int inspect_programs(struct session *session, struct release_programs *ret_programs,
		     struct diag *diag)
{
	for (int i = 0; i < RELEASE_PROGRAM_COUNT; i++) {
		OWN(own_fd) int fd = -1;
		char path[SITE_PATH_SIZE + 32];
		int error;

		snprintf(path, sizeof(path), "%s/%s", session->site.install_dir,
			 release_program_names[i]);
		error = protected_open(path, 0, PROTECTED_EXECUTABLE, PROGRAM_LIMIT, &fd,
				       diag);
		if (!error)
			error = digest_fd(fd, PROGRAM_LIMIT, path,
					  ret_programs->sha256[i], diag);
		if (error)
			return error;
		if (strcmp(ret_programs->sha256[i],
			   session->release.programs.sha256[i]) != 0)
			return diag_refuse(diag, path,
					   "is not the release's; install the release "
					   "again");
		if (i == RELEASE_NET_PROBE && session->runner_fd < 0)
			session->runner_fd = take_fd(&fd);
	}
	return 0;
}

/* --- engine and rules ------------------------------------------------------------- */

static int hold_engine(struct session *session, struct diag *diag)
{
	pid_t pid;
	int error = engine_pid(&session->engine, &pid, diag);

	process_close(&session->engine_process);
	own_fd(&session->engine_net_fd);
	if (!error)
		error = process_open(pid, &session->engine_process, diag);
	if (!error)
		error = process_open_namespace(&session->engine_process, "net",
					       &session->engine_net_fd, diag);
	return error;
}

int inspect_confinement(const char *place, const struct confinement *confinement,
			int filters, struct diag *diag)
{
	if (confinement->filters != filters)
		return diag_refuse(diag, place,
				   "is under %d system call filters, not %d: a failed "
				   "probe could mean one of those, not the policy; take "
				   "away what sets it (RestrictAddressFamilies= and the "
				   "like)",
				   confinement->filters, filters);
	if (confinement_is_enforced(confinement))
		return diag_refuse(diag, place,
				   "is confined by AppArmor ('%s'): a failed probe could "
				   "mean that, not the policy; take the profile away",
				   confinement->label);
	return 0;
}

/* What is below the engine inherits its filters. */
static int check_engine_confinement(struct session *session, struct diag *diag)
{
	struct confinement confinement;
	int error =
		process_read_confinement(&session->engine_process, &confinement, diag);

	return error ? error
		     : inspect_confinement("container engine", &confinement,
					   session->outer_filters, diag);
}

int inspect_engine(struct session *session, struct preflight *found, struct diag *diag)
{
	struct engine_info info;
	int error = hold_engine(session, diag);

	if (!error)
		error = check_engine_confinement(session, diag);
	if (!error)
		error = engine_info(&session->engine, &info, diag);
	if (error)
		return error;
	session->engine_info = info;
	found->daemon = info.identity;
	error = daemon_identity_digest(&found->daemon, found->daemon_sha256, diag);
	if (!error)
		strcpy(session->daemon_sha256, found->daemon_sha256);
	return error;
}

int inspect_engine_idle(struct session *session, struct diag *diag)
{
	struct lines_names containers, networks;
	int error = engine_list_containers(&session->engine, &containers, diag);

	if (!error && containers.count)
		error = diag_refuse(diag, "container engine",
				    "%zu containers are there ('%s'); remove them",
				    containers.count, containers.names[0]);
	if (!error)
		error = engine_list_networks(&session->engine, &networks, diag);
	if (!error && networks.count)
		error = diag_refuse(diag, "container engine",
				    "%zu networks of jobs are there ('%s'); remove them",
				    networks.count, networks.names[0]);
	return error;
}

int inspect_image(struct session *session, char ret_id[RELEASE_IMAGE_SIZE],
		  struct diag *diag)
{
	const struct release_image *image = &session->release.candidate_image;
	int error = engine_image_id(&session->engine, image->reference, ret_id, diag);

	if (!error && strcmp(ret_id, image->id) != 0)
		error = diag_refuse(diag, "container engine",
				    "its image '%s' is not the release's; load that one "
				    "with 'docker load' as the workload user",
				    image->reference);
	return error;
}

int inspect_rules(struct session *session, struct preflight *found, struct diag *diag)
{
	struct record_comparison *guard = &session->guard;
	int error =
		rules_compare(session, RULESET_DENY, COMPARISON_BEGIN, true, guard, diag);

	if (error)
		return error;
	strcpy(found->guard_kernel_sha256, guard->kernel_sha256);
	strcpy(found->nft_foreign_sha256, guard->foreign_sha256);
	return rules_read_semantic(&session->site, found->nft_ruleset_semantic_sha256,
				   diag);
}

/* --- the workload's processes ----------------------------------------------------- */

int inspect_workload(struct session *session, int64_t *ret_sockets, struct diag *diag)
{
	const struct workload workload = {.subjects = &session->subjects,
					  .groups = session->groups,
					  .group_count = session->group_count,
					  .self = &session->self,
					  .wait = &session->wait};

	int error = workload_check(&workload, ret_sockets, diag);

	return error ? error
		     : handed_check(&session->units, session->site.workload_user,
				    session->uid, diag);
}

static int check_ranges_again(const struct session *session, struct diag *diag)
{
	struct subjects subjects = {.count = 0};
	int error = subuid_check_switch(SUBUID_NSSWITCH_PATH, diag);

	if (!error)
		error = subuid_read(SUBUID_PATH, session->site.workload_user,
				    session->uid, &subjects, diag);
	if (error)
		return error;
	if (subjects.count != session->subjects.count ||
	    memcmp(subjects.ranges, session->subjects.ranges,
		   subjects.count * sizeof(subjects.ranges[0])) != 0)
		return diag_refuse(diag, SUBUID_PATH,
				   "the workload user's subordinate uids were changed "
				   "while the collection ran, and the rules do not know "
				   "them; take a new preflight");
	return 0;
}

int inspect_again(struct session *session, struct diag *diag)
{
	int64_t sockets;
	int error = inspect_worker_again(session, diag);

	if (!error)
		error = check_ranges_again(session, diag);
	return error ? error : inspect_workload(session, &sockets, diag);
}
