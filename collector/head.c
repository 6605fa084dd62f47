// SPDX-License-Identifier: GPL-2.0-or-later
// The record's head and preconditions, from what the bindings found.
#include "collector/head.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <nftables/libnftables.h>

#include "common/protected.h"

enum { PROGRAM_LIMIT = 256 << 20 };

static int digest_program(const char *path, char ret_sha256[DIGEST_TEXT_SIZE],
			  struct diag *diag)
{
	OWN(own_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return diag_fail(diag, errno, path, "cannot be opened");
	return digest_fd(fd, PROGRAM_LIMIT, path, ret_sha256, diag);
}

/* libnftables tells no version: the file's full name does. */
static void name_library(char *ret_name, size_t size)
{
	OWN(own_pointer) char *path = NULL;
	Dl_info info;

	/* A function's address as data: what dladdr() is for, and ISO C has no cast for.
	 * NOLINTNEXTLINE(performance-no-int-to-ptr) */
	if (dladdr((void *)(uintptr_t)nft_ctx_new, &info))
		path = realpath(info.dli_fname, NULL);
	snprintf(ret_name, size, "%.64s",
		 path && strrchr(path, '/') ? strrchr(path, '/') + 1 : "unknown");
}

static int fill_tools(struct session *session, struct diag *diag)
{
	struct record_tools *tools = &session->record.tools;
	char version[UNITS_TEXT_SIZE];
	int error = digest_program("/proc/self/exe", tools->collector_sha256, diag);

	if (!error)
		error = digest_program(ENGINE_CLIENT, tools->engine_client_sha256, diag);
	if (!error)
		error = units_version(&session->units, version, diag);
	if (error)
		return error;
	snprintf(tools->systemd, sizeof(tools->systemd), "%.64s", version);
	name_library(tools->libnftables, sizeof(tools->libnftables));
	return 0;
}

static int add_endpoint(struct record *record, const struct profile *profile,
			const char *address, int64_t port, enum endpoint_role role,
			struct diag *diag)
{
	struct record_endpoint *endpoint = &record->endpoints[record->endpoint_count++];

	endpoint->role = (int)role;
	return endpoint_digest(profile->label_key, address, port, role,
			       endpoint->endpoint_sha256, diag);
}

static int fill_endpoints(struct session *session, struct diag *diag)
{
	const struct profile *profile = &session->profile;
	const struct site *site = &session->site;
	struct record *record = &session->record;
	int error = 0;

	for (size_t i = 0; !error && i < profile->trusted_tcp_count; i++)
		error = add_endpoint(record, profile, profile->trusted_tcp[i].address,
				     profile->trusted_tcp[i].port,
				     ENDPOINT_ROLE_TRUSTED_TCP, diag);
	for (size_t i = 0; !error && i < profile->trusted_dns_count; i++)
		error = add_endpoint(record, profile, profile->trusted_dns[i].address,
				     profile->trusted_dns[i].port,
				     ENDPOINT_ROLE_TRUSTED_DNS, diag);
	if (!error)
		error = add_endpoint(record, profile, site->router.address,
				     site->router.port, ENDPOINT_ROLE_ROUTER, diag);
	if (!error)
		error = add_endpoint(record, profile, site->proxy.address,
				     site->proxy.port, ENDPOINT_ROLE_PROXY, diag);
	return error;
}

void head_fill_preconditions(struct session *session, const struct preflight *now)
{
	const struct record_comparison *guard = &session->guard;
	struct record_preconditions *found = &session->record.preconditions;

	found->checked_at_unix = now->checked_at_unix;
	strcpy(found->daemon_sha256, now->daemon_sha256);
	strcpy(found->worker_active_state, now->units.worker.active_state);
	strcpy(found->guard_active_state, now->units.guard.active_state);
	strcpy(found->proxy_active_state, now->units.proxy.active_state);
	strcpy(found->guard_ruleset_sha256, guard->ruleset_sha256);
	strcpy(found->guard_kernel_sha256, guard->kernel_sha256);
	strcpy(found->foreign_sha256, guard->foreign_sha256);
	found->workload_uid = session->uid;
	for (size_t i = 0; i < session->subjects.count &&
			   found->subordinate_uid_count < RECORD_RANGES_MAX;
	     i++) {
		const struct subject_range *range = &session->subjects.ranges[i];

		if (range->first == range->last && range->first == session->uid)
			continue;
		found->subordinate_uids[found->subordinate_uid_count++] =
			(struct record_range){range->first,
					      (int64_t)range->last - range->first + 1};
	}
	found->containers = now->containers;
	found->job_networks = now->job_networks;
}

int head_fill(struct session *session, struct diag *diag)
{
	struct record *record = &session->record;
	const struct release *release = &session->release;
	int error;

	record->kind = RECORD_NETWORK_ENFORCEMENT;
	record_set_coverage(record,
			    session->site.router_namespace == SITE_ROUTER_ROOTLESS_NETNS);
	strcpy(record->catalog_sha256, release->catalog_sha256);
	strcpy(record->site_sha256, session->site_sha256);
	record->host = session->host;
	strcpy(record->release.release_sha256, session->config.release_sha256);
	strcpy(record->release.version, release->version);
	strcpy(record->release.source_revision, release->source_revision);
	strcpy(record->release.probe_runner_sha256, session->runner_sha256);
	strcpy(record->release.targets_sha256, release->targets_sha256);
	strcpy(record->release.candidate_image_id, release->candidate_image.id);
	strcpy(record->pre_collection_preflight_sha256,
	       session->config.pre_collection_preflight_sha256);
	strcpy(record->inputs.config_sha256, session->config_sha256);
	strcpy(record->inputs.profile_sha256, session->profile.sha256);
	record->inputs.issued_at_unix = session->profile.issued_at_unix;
	record->inputs.expires_at_unix = session->profile.expires_at_unix;
	error = fill_tools(session, diag);
	return error ? error : fill_endpoints(session, diag);
}
