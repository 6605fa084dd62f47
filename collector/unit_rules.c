// SPDX-License-Identifier: GPL-2.0-or-later
// Which properties of a unit must be what, and which do not matter.
#include "collector/unit_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/own.h"
#include "policy/render.h"

enum kind {
	MUST,     /* is the value that the rendered template gives it */
	SOCKETS,  /* is the default, in every unit: else socket calls could fail */
	SYSCALLS, /* the same: a list in which no call fails instead of being killed for
		   */
	DEFAULT,  /* is the default; a row of its own puts it into the digest */
	FREE,     /* does not matter, or is state */
};

struct rule {
	const char *name; /* a '*' at the end stands for any rest */
	enum kind kind;
	const char *value; /* with "@name@" for what the site says */
};

/* In alphabetic order within each part. */
static const struct rule rules[] = {
	/* A failed probe must mean the policy (SPEC 4.2). */
	{"AppArmorProfile", SOCKETS, NULL},
	{"BPFProgram", SOCKETS, NULL},
	{"BindNetworkInterface", SOCKETS, NULL},
	{"IPAddressAllow", SOCKETS, NULL},
	{"IPAddressDeny", SOCKETS, NULL},
	{"IPEgressFilterPath", SOCKETS, NULL},
	{"IPIngressFilterPath", SOCKETS, NULL},
	{"NetworkNamespacePath", SOCKETS, NULL},
	{"PrivateNetwork", SOCKETS, NULL},
	{"RestrictAddressFamilies", SOCKETS, NULL},
	{"RestrictNetworkInterfaces", SOCKETS, NULL},
	{"SELinuxContext", SOCKETS, NULL},
	{"SmackProcessLabel", SOCKETS, NULL},
	{"SocketBindAllow", SOCKETS, NULL},
	{"SocketBindDeny", SOCKETS, NULL},
	{"SystemCallErrorNumber", SOCKETS, NULL},
	{"SystemCallFilter", SYSCALLS, NULL},

	/* Who runs, where, and for how long. */
	{"BindsTo", MUST, "[\"@guard@\"]"},
	{"Delegate", DEFAULT, NULL},
	{"DynamicUser", DEFAULT, NULL},
	{"Environment", MUST, "[\"LANG=C.UTF-8\" \"TZ=UTC\"]"},
	{"EnvironmentFiles", DEFAULT, NULL},
	{"FileDescriptorStoreMax", DEFAULT, NULL},
	{"Group", MUST, "\"@group@\""},
	{"KillMode", DEFAULT, NULL},
	{"PartOf", DEFAULT, NULL},
	{"PrivateUsers", DEFAULT, NULL},
	{"RefuseManualStart", DEFAULT, NULL},
	{"RemainAfterExit", DEFAULT, NULL},
	{"Restart", DEFAULT, NULL},
	{"RootDirectory", DEFAULT, NULL},
	{"RootImage", DEFAULT, NULL},
	{"RuntimeDirectory", MUST, "[\"@runtime@/agent\"]"},
	{"RuntimeDirectoryMode", MUST, "448"}, /* 0700 */
	{"SendSIGKILL", DEFAULT, NULL},
	{"Slice", MUST, "\"system.slice\""},
	{"StandardInput", MUST, "\"null\""},
	{"StartLimitIntervalUSec", MUST, "0"},
	{"SupplementaryGroups", DEFAULT, NULL},
	{"TimeoutStartUSec", MUST, "120000000"},
	{"TimeoutStopUSec", MUST, "420000000"},
	{"TriggeredBy", DEFAULT, NULL},
	{"Type", MUST, "\"exec\""},
	{"UMask", MUST, "63"}, /* 0077 */
	{"UpheldBy", DEFAULT, NULL},
	{"User", MUST, "\"@user@\""},
	{"WorkingDirectory", MUST, "\"/\""},

	/* Its sandbox. */
	{"AmbientCapabilities", DEFAULT, NULL},
	{"CapabilityBoundingSet", MUST, "0"},
	{"DevicePolicy", MUST, "\"closed\""},
	{"LockPersonality", MUST, "true"},
	{"MemoryDenyWriteExecute", MUST, "true"},
	{"NoNewPrivileges", MUST, "true"},
	{"PrivateDevices", MUST, "true"},
	{"PrivateIPC", MUST, "true"},
	{"PrivateMounts", MUST, "true"},
	{"PrivateTmp", MUST, "true"},
	{"ProcSubset", MUST, "\"pid\""},
	{"ProtectClock", MUST, "true"},
	{"ProtectControlGroups", MUST, "true"},
	{"ProtectHome", MUST, "\"yes\""},
	{"ProtectHostname", MUST, "true"},
	{"ProtectKernelLogs", MUST, "true"},
	{"ProtectKernelModules", MUST, "true"},
	{"ProtectKernelTunables", MUST, "true"},
	{"ProtectProc", MUST, "\"invisible\""},
	{"ProtectSystem", MUST, "\"strict\""},
	{"RestrictNamespaces", MUST, "0"},
	{"RestrictRealtime", MUST, "true"},
	{"RestrictSUIDSGID", MUST, "true"},
	{"SystemCallArchitectures", MUST, "[\"native\"]"},
	/* Later systemds tell these a second time, in other words. */
	{"PrivateTmpEx", FREE, NULL},
	{"ProtectControlGroupsEx", FREE, NULL},
	{"ProtectHostnameEx", FREE, NULL},

	/* Judged as commands, not as properties. */
	{"ExecCondition*", FREE, NULL},
	{"ExecReload*", FREE, NULL},
	{"ExecStart", FREE, NULL},
	{"ExecStartEx", FREE, NULL},
	{"ExecStartPost*", FREE, NULL},
	{"ExecStartPre*", FREE, NULL},
	{"ExecStop", FREE, NULL},
	{"ExecStopEx", FREE, NULL},
	{"ExecStopPost*", FREE, NULL},

	/* What it may use up. A worker that has not enough dies or answers
	 * probe_error, which nothing accepts. */
	{"AllowedCPUs", FREE, NULL},
	{"AllowedMemoryNodes", FREE, NULL},
	{"BlockIO*", FREE, NULL},
	{"CPU*", FREE, NULL},
	{"CoredumpFilter", FREE, NULL},
	{"DefaultMemory*", FREE, NULL},
	{"DefaultStartupMemory*", FREE, NULL},
	{"EffectiveCPUs", FREE, NULL},
	{"EffectiveMemory*", FREE, NULL},
	{"EffectiveTasksMax", FREE, NULL},
	{"IOAccounting", FREE, NULL},
	{"IODevice*", FREE, NULL},
	{"IORead*", FREE, NULL},
	{"IOScheduling*", FREE, NULL},
	{"IOWeight", FREE, NULL},
	{"IOWrite*", FREE, NULL},
	{"Limit*", FREE, NULL},
	{"ManagedOOM*", FREE, NULL},
	{"Memory*", FREE, NULL},
	{"NUMA*", FREE, NULL},
	{"Nice", FREE, NULL},
	{"OOM*", FREE, NULL},
	{"Startup*", FREE, NULL},
	{"Tasks*", FREE, NULL},
	{"TimeoutAbortUSec", FREE, NULL},
	{"TimeoutStartFailureMode", FREE, NULL},
	{"TimeoutStopFailureMode", FREE, NULL},
	{"TimerSlackNSec", FREE, NULL},

	/* What it says to people. */
	{"Description", FREE, NULL},
	{"Documentation", FREE, NULL},
	{"Log*", FREE, NULL},
	{"StandardError", FREE, NULL},
	{"StandardOutput", FREE, NULL},
	{"Syslog*", FREE, NULL},
	{"TTY*", FREE, NULL},
	{"Utmp*", FREE, NULL},

	/* What follows from the files and from other units; which of those are loaded
	 * changes by itself. */
	{"After", FREE, NULL},
	{"Before", FREE, NULL},
	{"BoundBy", FREE, NULL},
	{"ConflictedBy", FREE, NULL},
	{"Conflicts", FREE, NULL},
	{"ConsistsOf", FREE, NULL},
	{"DeviceAllow", FREE, NULL}, /* what ProtectClock= leaves */
	{"DropInPaths", FREE, NULL}, /* digested as files */
	{"FragmentPath", FREE, NULL},
	{"Id", FREE, NULL},
	{"Names", FREE, NULL},
	{"Refs", FREE, NULL},
	{"RequiredBy", FREE, NULL},
	{"Requires", FREE, NULL},
	{"RequiresMountsFor", FREE, NULL},
	{"RequisiteOf", FREE, NULL},
	{"UnitFile*", FREE, NULL},
	{"WantedBy", FREE, NULL},
	{"Wants", FREE, NULL},
	{"WantsMountsFor", FREE, NULL},

	/* State. */
	{"Activation*", FREE, NULL},
	{"Active*", FREE, NULL},
	{"AssertResult", FREE, NULL},
	{"AssertTimestamp*", FREE, NULL},
	{"Can*", FREE, NULL},
	{"CleanResult", FREE, NULL},
	{"ConditionResult", FREE, NULL},
	{"ConditionTimestamp*", FREE, NULL},
	{"ControlGroup*", FREE, NULL},
	{"ControlPID", FREE, NULL},
	{"Debug*", FREE, NULL},
	{"ExecMain*", FREE, NULL},
	{"FreezerState", FREE, NULL},
	{"GID", FREE, NULL},
	{"IPAccounting", FREE, NULL},
	{"IPEgressBytes", FREE, NULL},
	{"IPEgressPackets", FREE, NULL},
	{"IPIngressBytes", FREE, NULL},
	{"IPIngressPackets", FREE, NULL},
	{"InactiveE*", FREE, NULL},
	{"InvocationID", FREE, NULL},
	{"Job", FREE, NULL},
	{"LiveMountResult", FREE, NULL},
	{"LoadError", FREE, NULL},
	{"LoadState", FREE, NULL},
	{"MainPID", FREE, NULL},
	{"Markers", FREE, NULL},
	{"NFileDescriptorStore", FREE, NULL},
	{"NRestarts", FREE, NULL},
	{"NeedDaemonReload", FREE, NULL}, /* refused by its reader */
	{"ReloadResult", FREE, NULL},
	{"RestartUSecNext", FREE, NULL},
	{"Result", FREE, NULL},
	{"StateChange*", FREE, NULL},
	{"Status*", FREE, NULL},
	{"SubState", FREE, NULL},
	{"UID", FREE, NULL},
	{"WatchdogTimestamp*", FREE, NULL},
	/* Unset it is infinite before the first start, and 0 after it. A worker that it
	 * ends is one that has not answered. */
	{"WatchdogUSec", FREE, NULL},
};

/* --- lists of properties ---------------------------------------------------------- */

void unit_properties_release(struct unit_properties *properties)
{
	for (size_t i = 0; i < properties->count; i++) {
		free(properties->items[i].name);
		free(properties->items[i].value);
	}
	free(properties->items);
	*properties = (struct unit_properties){0};
}

int unit_properties_add(struct unit_properties *properties, const char *name,
			const char *value, struct diag *diag)
{
	OWN(own_pointer) char *own_name = strdup(name);
	OWN(own_pointer) char *own_value = strdup(value);

	if (!own_name || !own_value)
		return diag_no_memory(diag);
	if (properties->count == properties->room) {
		size_t room = properties->room ? 2 * properties->room : 512;
		struct unit_property *grown =
			reallocarray(properties->items, room, sizeof(*grown));

		if (!grown)
			return diag_no_memory(diag);
		properties->items = grown;
		properties->room = room;
	}
	properties->items[properties->count++] =
		(struct unit_property){TAKE_POINTER(own_name), TAKE_POINTER(own_value)};
	return 0;
}

const char *unit_properties_find(const struct unit_properties *properties,
				 const char *name)
{
	for (size_t i = 0; i < properties->count; i++)
		if (strcmp(properties->items[i].name, name) == 0)
			return properties->items[i].value;
	return NULL;
}

/* --- judging ---------------------------------------------------------------------- */

static bool is_named(const struct rule *rule, const char *name)
{
	size_t length = strlen(rule->name);

	if (rule->name[length - 1] == '*')
		return strncmp(rule->name, name, length - 1) == 0;
	return strcmp(rule->name, name) == 0;
}

static bool has_rule(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (is_named(&rules[i], name))
			return true;
	return false;
}

/* Whether no call of the list has an error of its own: "connect:EPERM". */
static bool has_no_errors(const char *value)
{
	return !strchr(value, ':');
}

static int refuse(const char *unit, const char *name, const char *value,
		  const char *wanted, bool is_about_sockets, struct diag *diag)
{
	return diag_refuse(diag, unit,
			   "its %s is %.60s, not %.60s%s; render the site again with "
			   "net-site, and remove the drop-in that says so",
			   name, value ? value : "unknown", wanted ? wanted : "unknown",
			   is_about_sockets
				   ? ": a failed probe could mean that, not the policy"
				   : "");
}

static int judge_sockets(const char *unit, const struct rule *rule, const char *value,
			 const char *standard, struct diag *diag)
{
	bool is_right;

	/* Neither has it: a property that this systemd does not know. */
	if (!value && !standard)
		return 0;
	if (rule->kind == SYSCALLS)
		is_right = value && has_no_errors(value);
	else
		is_right = value && standard && strcmp(value, standard) == 0;
	if (is_right)
		return 0;
	return refuse(unit, rule->name, value,
		      rule->kind == SYSCALLS ? "a list without errors" : standard, true,
		      diag);
}

static int judge_must(const char *unit, const struct rule *rule, const char *value,
		      const struct render_variable *variables, size_t variable_count,
		      struct diag *diag)
{
	OWN(own_bytes) struct bytes wanted = {0};
	int error = render_text(rule->value, strlen(rule->value), rule->name, variables,
				variable_count, &wanted, diag);

	if (error)
		return error;
	if (value && strcmp(value, wanted.data) == 0)
		return 0;
	return refuse(unit, rule->name, value, wanted.data, false, diag);
}

static int judge_default(const char *unit, const char *name, const char *value,
			 const struct unit_properties *defaults, struct diag *diag)
{
	const char *standard = unit_properties_find(defaults, name);

	/* Neither has it: a property that this systemd does not know. */
	if (!value && !standard)
		return 0;
	if (value && standard && strcmp(value, standard) == 0)
		return 0;
	return refuse(unit, name, value, standard, false, diag);
}

/* Those with a row of their own, missing ones included. */
static int judge_rules(const char *unit, const struct unit_properties *properties,
		       const struct unit_properties *defaults,
		       const struct render_variable *variables, size_t variable_count,
		       struct diag *diag)
{
	int error = unit_rules_judge_sockets(unit, properties, defaults, diag);

	for (size_t i = 0; !error && i < ARRAY_SIZE(rules); i++) {
		const struct rule *rule = &rules[i];
		const char *value = unit_properties_find(properties, rule->name);

		if (rule->kind == MUST)
			error = judge_must(unit, rule, value, variables, variable_count,
					   diag);
		else if (rule->kind == DEFAULT)
			error = judge_default(unit, rule->name, value, defaults, diag);
	}
	return error;
}

/* Those without a row. */
static int judge_rest(const char *unit, const struct unit_properties *properties,
		      const struct unit_properties *defaults, struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; !error && i < properties->count; i++)
		if (!has_rule(properties->items[i].name))
			error = judge_default(unit, properties->items[i].name,
					      properties->items[i].value, defaults, diag);
	return error;
}

int unit_rules_judge_worker(const char *unit, const struct unit_properties *properties,
			    const struct unit_properties *defaults,
			    const struct site *site, const struct layout *layout,
			    struct diag *diag)
{
	const struct render_variable variables[] = {
		{"user", site->workload_user},
		{"group", layout->worker_group},
		{"guard", site->guard_unit},
		{"runtime", site->runtime_dir + strlen("/run/")},
	};
	int error = judge_rules(unit, properties, defaults, variables,
				ARRAY_SIZE(variables), diag);

	return error ? error : judge_rest(unit, properties, defaults, diag);
}

int unit_rules_judge_sockets(const char *unit, const struct unit_properties *properties,
			     const struct unit_properties *defaults, struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(rules); i++)
		if (rules[i].kind == SOCKETS || rules[i].kind == SYSCALLS)
			error = judge_sockets(
				unit, &rules[i],
				unit_properties_find(properties, rules[i].name),
				unit_properties_find(defaults, rules[i].name), diag);
	return error;
}

/* The `index`th row whose kind `is_wanted` has. */
static const char *pick(bool (*is_wanted)(enum kind kind), size_t index)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (is_wanted(rules[i].kind) && !index--)
			return rules[i].name;
	return NULL;
}

static bool is_digested(enum kind kind)
{
	return kind != FREE;
}

static bool is_about_sockets(enum kind kind)
{
	return kind == SOCKETS || kind == SYSCALLS;
}

const char *unit_rules_digested(size_t index)
{
	return pick(is_digested, index);
}

const char *unit_rules_socket_property(size_t index)
{
	return pick(is_about_sockets, index);
}
