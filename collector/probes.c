// SPDX-License-Identifier: GPL-2.0-or-later
// Probes: a catalog's rows made attempts, and the numbers of their bases.
#include "collector/probes.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "collector/counter.h"
#include "collector/netview.h"
#include "common/clock.h"

enum {
	PIPELINE_MAX = 48, /* in flight to one agent: below its own bound */
	WATCH_MS = 1000,   /* a loopback connection takes no time */
	WATCH_QUIET_MS = 200,
	WATCH_ACCEPTS_MAX = 16,
};

static_assert((int)OUTCOME_CONNECTED == (int)OBSERVED_CONNECTED &&
		      (int)OUTCOME_PROBE_ERROR == (int)OBSERVED_PROBE_ERROR,
	      "outcomes and observations share their order");

/* --- from rows to attempts -------------------------------------------------------- */

struct agent_request probes_connect(const char *address, int64_t port, int64_t timeout_ms)
{
	struct agent_request request = {
		.op = AGENT_CONNECT, .port = port, .timeout_ms = timeout_ms};

	strncpy(request.address, address, sizeof(request.address) - 1);
	return request;
}

static void aim(const struct session *session, const struct catalog_probe *entry,
		size_t index, struct agent_request *request)
{
	const struct targets *targets = &session->targets;
	const struct agent *sibling = &session->agents[POSITION_SIBLING];
	struct target_endpoint at = {.port = 0};

	switch ((enum catalog_target)entry->target) {
	case CATALOG_TARGET_TRUSTED_TCP:
		strcpy(at.address, session->profile.trusted_tcp[index].address);
		at.port = session->profile.trusted_tcp[index].port;
		break;
	case CATALOG_TARGET_ROUTER:
		strcpy(at.address, session->site.router.address);
		at.port = session->site.router.port;
		break;
	case CATALOG_TARGET_PROXY:
		strcpy(at.address, session->site.proxy.address);
		at.port = session->site.proxy.port;
		break;
	case CATALOG_TARGET_PUBLIC:
		at = targets->public;
		break;
	case CATALOG_TARGET_IPV6:
		at = targets->ipv6;
		break;
	case CATALOG_TARGET_METADATA:
		at = targets->metadata;
		break;
	case CATALOG_TARGET_HOST_LOOPBACK:
		at = targets->host_loopback;
		break;
	case CATALOG_TARGET_SIBLING:
		strcpy(at.address, sibling->address);
		at.port = targets->sibling_port;
		break;
	case CATALOG_TARGET_DOCKER_API:
		strcpy(at.address, session->site.router.address);
		at.port = targets->docker_api_port;
		break;
	case CATALOG_TARGET_DNS:
		strcpy(request->target, targets->dns_name);
		return;
	case CATALOG_TARGET_SELF:
	case CATALOG_TARGET_COUNT:
		return;
	}
	strcpy(request->address, at.address);
	request->port = at.port;
}

static void make_request(const struct session *session, const struct catalog_probe *entry,
			 size_t index, struct agent_request *request)
{
	const struct target_timeouts *timeouts = &session->targets.timeouts;

	switch ((enum catalog_op)entry->op) {
	case CATALOG_OP_CONNECT:
		*request = (struct agent_request){.op = AGENT_CONNECT,
						  .timeout_ms = timeouts->connect_ms};
		break;
	case CATALOG_OP_HANDSHAKE:
		*request = (struct agent_request){.op = AGENT_HANDSHAKE,
						  .timeout_ms = timeouts->connect_ms};
		break;
	case CATALOG_OP_PROXY_FORWARD:
		*request = (struct agent_request){.op = AGENT_PROXY_FORWARD,
						  .timeout_ms = timeouts->proxy_ms};
		strcpy(request->target, session->targets.proxy_authority);
		break;
	case CATALOG_OP_DNS:
		*request = (struct agent_request){.op = AGENT_DNS,
						  .timeout_ms = timeouts->dns_ms};
		break;
	case CATALOG_OP_CHECK: /* the phase puts the connection in */
		*request = (struct agent_request){.op = AGENT_CHECK,
						  .timeout_ms = timeouts->check_ms};
		return;
	case CATALOG_OP_HELLO:
		*request = (struct agent_request){.op = AGENT_HELLO};
		return;
	case CATALOG_OP_SOURCE:
	case CATALOG_OP_INSPECT:
	case CATALOG_OP_COUNT:
		return;
	}
	aim(session, entry, index, request);
}

/* What the control agent can try as well: not what is a position's own. */
static bool is_controlled(const struct catalog_probe *entry)
{
	if (!(catalog_bases(entry) & 1U << BASIS_CONTROL))
		return false;
	return entry->op == CATALOG_OP_CONNECT || entry->op == CATALOG_OP_DNS;
}

static int set_endpoint(const struct session *session, const struct catalog_probe *entry,
			const struct agent_request *request, size_t index,
			struct record_probe *record, struct diag *diag)
{
	enum endpoint_role role = ENDPOINT_ROLE_PROXY;
	struct agent_request at = *request;

	if (!catalog_has_endpoint(entry))
		return 0;
	if (entry->target == CATALOG_TARGET_TRUSTED_TCP)
		role = ENDPOINT_ROLE_TRUSTED_TCP;
	else if (entry->target == CATALOG_TARGET_ROUTER)
		role = ENDPOINT_ROLE_ROUTER;
	aim(session, entry, index, &at); /* a check's request has no address */
	record->has_endpoint = true;
	return endpoint_digest(session->profile.label_key, at.address, at.port, role,
			       record->endpoint_sha256, diag);
}

static int add_probe(struct probe_set *set, const struct catalog_probe *entry,
		     size_t index, struct diag *diag)
{
	struct session *session = set->session;
	struct record_phase *phase = set->phase;
	struct probe *probe = &set->probes[set->count];

	if (set->count == RECORD_PROBES_MAX)
		return diag_fail(diag, ENOSPC, "catalog", "too many probes in a phase");
	*probe = (struct probe){.entry = entry,
				.record = &phase->probes[phase->probe_count],
				.agent = &session->agents[entry->position],
				.has_control = is_controlled(entry)};
	make_request(session, entry, index, &probe->request);
	probe->control = probe->request;
	*probe->record = (struct record_probe){
		.expect = (int)catalog_expectation(
			entry, session->profile.trusted_dns_count > 0),
		.observed = OBSERVED_PROBE_ERROR};
	strcpy(probe->record->id, entry->id);
	set->count++;
	phase->probe_count++;
	return set_endpoint(session, entry, &probe->request, index, probe->record, diag);
}

int probes_prepare(struct session *session, enum phase_name name,
		   struct record_phase *phase, struct probe_set *ret_set,
		   struct diag *diag)
{
	const struct catalog *catalog = catalog_builtin();
	int error = 0;

	*ret_set = (struct probe_set){.session = session, .phase = phase};
	for (size_t i = 0; i < catalog->probe_count; i++) {
		const struct catalog_probe *entry = &catalog->probes[i];
		size_t times =
			entry->per_endpoint ? session->profile.trusted_tcp_count : 1;

		if (entry->phase != (int)name)
			continue;
		for (size_t j = 0; !error && j < times; j++)
			error = add_probe(ret_set, entry, j, diag);
	}
	return error;
}

size_t probes_count_all(const struct profile *profile)
{
	const struct catalog *catalog = catalog_builtin();
	size_t count = 0;

	for (size_t i = 0; i < catalog->probe_count; i++)
		count += catalog->probes[i].per_endpoint ? profile->trusted_tcp_count : 1;
	return count;
}

struct probe *probes_find(struct probe_set *set, const char *id, size_t index)
{
	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->probes[i].entry->id, id) == 0 && index-- == 0)
			return &set->probes[i];
	assert(false); /* a probe that the catalog does not have */
	return NULL;
}

/* --- observations ----------------------------------------------------------------- */

void probes_take_answer(struct probe *probe, const struct agent_answer *answer)
{
	probe->record->observed =
		answer->has_outcome ? answer->outcome : OBSERVED_PROBE_ERROR;
	probe->record->evidence.elapsed_us = answer->elapsed_us;
	probe->record->evidence.at_unix = session_now();
}

void probes_finish(struct probe_set *set, struct probe *probe)
{
	struct session *session = set->session;
	struct record_probe *record = probe->record;

	record_judge_probe(record, probe->entry);
	probe->is_done = true;
	session->probes_done++;
	if (session->progress.on_probe)
		session->progress.on_probe(session->progress.context, record,
					   session->probes_done, session->probes_all,
					   session->profile.expires_at_unix -
						   session_now());
}

int probes_close(struct probe_set *set, struct diag *diag)
{
	for (size_t i = 0; i < set->count; i++)
		if (!set->probes[i].is_done)
			return diag_fail(diag, 0, set->probes[i].entry->id,
					 "was not evaluated");
	return 0;
}

static struct exchange to_exchange(const struct agent_answer *answer)
{
	return (struct exchange){.outcome = answer->has_outcome ? answer->outcome
								: OBSERVED_PROBE_ERROR,
				 .elapsed_us = answer->elapsed_us,
				 .at_unix = session_now()};
}

int probes_exchange(struct agent *agent, const struct agent_request *request,
		    struct exchange *ret_exchange, struct diag *diag)
{
	struct agent_answer answer;
	int error = agentlink_ask(&agent->link, request, &answer, diag);

	if (!error)
		*ret_exchange = to_exchange(&answer);
	return error;
}

/* --- controls --------------------------------------------------------------------- */

static bool is_same_request(const struct agent_request *one,
			    const struct agent_request *other)
{
	return one->op == other->op && one->port == other->port &&
	       strcmp(one->address, other->address) == 0 &&
	       strcmp(one->target, other->target) == 0 &&
	       strcmp(one->connection, other->connection) == 0;
}

static struct exchange *control_slot(const struct probe *probe, bool is_after)
{
	struct evidence_control *control = &probe->record->evidence.control;

	return is_after ? &control->after : &control->before;
}

/* The first of the list whose control is the same attempt: it is made once. */
static struct probe *find_twin(struct probe *const *list, size_t count,
			       const struct probe *probe)
{
	for (size_t i = 0; i < count && list[i] != probe; i++)
		if (list[i]->has_control &&
		    is_same_request(&list[i]->control, &probe->control))
			return list[i];
	return NULL;
}

static int receive_controls(struct agent *control, struct probe **sent, size_t count,
			    bool is_after, struct diag *diag)
{
	int64_t patience = 0;
	int error = 0;

	for (size_t i = 0; i < count; i++)
		if (sent[i]->control.timeout_ms > patience)
			patience = sent[i]->control.timeout_ms;
	for (size_t i = 0; !error && i < count; i++) {
		struct agent_answer answer;

		error = agentlink_receive(&control->link,
					  clock_boot_ms() + patience + AGENT_ALLOWANCE_MS,
					  &answer, diag);
		if (!error)
			*control_slot(sent[i], is_after) = to_exchange(&answer);
	}
	return error;
}

int probes_run_controls(struct probe_set *set, struct probe *const *list, size_t count,
			bool is_after, struct diag *diag)
{
	struct agent *control = &set->session->agents[POSITION_CONTROL];
	struct probe *sent[PIPELINE_MAX];
	size_t in_flight = 0;
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		struct probe *probe = list[i];

		if (!probe->has_control || find_twin(list, count, probe))
			continue;
		if (in_flight == PIPELINE_MAX) {
			error = receive_controls(control, sent, in_flight, is_after,
						 diag);
			in_flight = 0;
		}
		if (!error)
			error = agentlink_send(&control->link, &probe->control, diag);
		if (!error)
			sent[in_flight++] = probe;
	}
	if (!error)
		error = receive_controls(control, sent, in_flight, is_after, diag);
	for (size_t i = 0; !error && i < count; i++) {
		const struct probe *twin = find_twin(list, count, list[i]);

		if (!list[i]->has_control)
			continue;
		if (twin)
			*control_slot(list[i], is_after) = *control_slot(twin, is_after);
		list[i]->record->evidence.has_control = true;
	}
	return error;
}

/* --- groups ----------------------------------------------------------------------- */

static int look_for_route(struct probe *probe, struct diag *diag)
{
	enum netview_route route;
	int error;

	if (probe->entry->target != CATALOG_TARGET_IPV6 ||
	    !(catalog_bases(probe->entry) & 1U << BASIS_NO_ROUTE))
		return 0;
	error = netview_route(probe->agent->net_fd, probe->request.address, &route, diag);
	if (error)
		return error;
	probe->record->evidence.has_no_route = true;
	probe->record->evidence.no_route = (struct evidence_no_route){
		.family = IP_FAMILY_IPV6,
		.supported = true,
		.routes = route != NETVIEW_ROUTE_NONE,
	};
	return 0;
}

/* Whether only the counters can make it conclusive, so that it must be alone. */
static bool wants_to_be_alone(const struct probe *probe)
{
	const struct evidence *evidence = &probe->record->evidence;
	unsigned int bases = catalog_bases(probe->entry);

	if (!(bases & 1U << BASIS_DENY_COUNTER) || evidence->has_listener ||
	    (evidence->has_no_route && evidence->no_route.routes == 0))
		return false;
	if (!probe->has_control)
		return !(bases & 1U << BASIS_LISTENER);
	return evidence->control.before.outcome != OBSERVED_CONNECTED;
}

static int send_all(struct probe *const *list, size_t count, struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		error = agentlink_send(&list[i]->agent->link, &list[i]->request, diag);
	return error;
}

static int receive_all(struct probe *const *list, size_t count, struct diag *diag)
{
	int64_t patience = 0;
	int error = 0;

	for (size_t i = 0; i < count; i++)
		if (list[i]->request.timeout_ms > patience)
			patience = list[i]->request.timeout_ms;
	for (size_t i = 0; !error && i < count; i++) {
		struct agent_answer answer;

		error = agentlink_receive(&list[i]->agent->link,
					  clock_boot_ms() + patience + AGENT_ALLOWANCE_MS,
					  &answer, diag);
		if (!error)
			probes_take_answer(list[i], &answer);
	}
	return error;
}

int probes_run_group(struct probe_set *set, struct probe *const *list, size_t count,
		     struct diag *diag)
{
	struct probe *group[PROBES_GROUP_MAX] = {NULL}, *alone[PROBES_GROUP_MAX] = {NULL};
	size_t group_count = 0, alone_count = 0;
	int error = probes_run_controls(set, list, count, false, diag);

	for (size_t i = 0; !error && i < count; i++)
		error = look_for_route(list[i], diag);
	for (size_t i = 0; !error && i < count; i++) {
		if (wants_to_be_alone(list[i]))
			alone[alone_count++] = list[i];
		else
			group[group_count++] = list[i];
	}
	if (!error)
		error = send_all(group, group_count, diag);
	if (!error)
		error = receive_all(group, group_count, diag);
	if (!error)
		error = probes_run_controls(set, group, group_count, true, diag);
	for (size_t i = 0; !error && i < alone_count; i++)
		error = probes_run_alone(set, alone[i], diag);
	return error;
}

int probes_run_alone(struct probe_set *set, struct probe *probe, struct diag *diag)
{
	struct evidence_deny_counter *counter = &probe->record->evidence.deny_counter;
	const char *table = set->session->site.table;
	struct agent_answer answer;
	int error = counter_read_denied(table, &counter->packets_before, diag);

	if (!error)
		error = agentlink_ask(&probe->agent->link, &probe->request, &answer,
				      diag);
	if (!error)
		error = counter_read_denied(table, &counter->packets_after, diag);
	if (error)
		return error;
	counter->in_flight = 1;
	probe->record->evidence.has_deny_counter = true;
	probes_take_answer(probe, &answer);
	if (!probe->has_control)
		return 0;
	/* Its control did not get through before; the record says after, too. */
	return probes_run_controls(set, &probe, 1, true, diag);
}

/* --- listeners -------------------------------------------------------------------- */

static int reach_watch(struct listener_watch *watch, int64_t *ret_reached,
		       struct diag *diag)
{
	struct exchange exchange;
	int error = probes_exchange(watch->owner, &watch->reach, &exchange, diag);

	if (!error)
		*ret_reached = exchange.outcome == OBSERVED_CONNECTED;
	return error;
}

int probes_watch_start(struct session *session, struct agent *owner,
		       const char *listen_address, int64_t port,
		       struct listener_watch *ret_watch, struct diag *diag)
{
	struct agent_request listen = {.op = AGENT_LISTEN, .port = port};
	struct agent_answer answer;
	int error;

	(void)session;
	*ret_watch = (struct listener_watch){
		.owner = owner, .reach = probes_connect(listen_address, port, WATCH_MS)};
	strcpy(listen.address, ret_watch->reach.address);
	error = agentlink_ask(&owner->link, &listen, &answer, diag);
	if (error)
		return error;
	/* Somebody else's listener there answers nothing about ours. */
	if (!answer.has_listener)
		return 0;
	strcpy(ret_watch->listener, answer.listener);
	return reach_watch(ret_watch, &ret_watch->numbers.reached_before, diag);
}

int probes_watch_end(struct session *session, struct listener_watch *watch,
		     struct diag *diag)
{
	struct agent_request accept = {.op = AGENT_ACCEPT, .timeout_ms = WATCH_QUIET_MS};
	int error;

	(void)session;
	if (!watch->listener[0])
		return 0;
	strcpy(accept.listener, watch->listener);
	error = reach_watch(watch, &watch->numbers.reached_after, diag);
	for (int i = 0; !error && i < WATCH_ACCEPTS_MAX; i++) {
		struct agent_answer answer;

		error = agentlink_ask(&watch->owner->link, &accept, &answer, diag);
		if (error || answer.outcome != OUTCOME_ACCEPTED)
			break;
		watch->numbers.accepted++;
	}
	return error;
}
