// SPDX-License-Identifier: GPL-2.0-or-later
// Sockets of root's that systemd keeps for the workload's services.
#include "collector/handed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/bus.h"
#include "common/own.h"

#define SOCKET_INTERFACE BUS_MANAGER ".Socket"

enum { NAME_SIZE = 256, NAMES_MAX = 256 };

struct names {
	char names[NAMES_MAX][NAME_SIZE];
	size_t count;
};

static int add_name(struct names *names, const char *name)
{
	if (names->count == NAMES_MAX || strlen(name) >= NAME_SIZE)
		return -E2BIG;
	strcpy(names->names[names->count++], name);
	return 0;
}

/* The active socket units. */
static int list_sockets(struct units *units, struct names *ret_names, struct diag *diag)
{
	OWN(bus_own_message) sd_bus_message *reply = NULL;
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *name;
	int more = bus_call(units, BUS_MANAGER_PATH, BUS_MANAGER_INTERFACE,
			    "ListUnitsByPatterns", &reply, &error, "asas", 1, "active", 1,
			    "*.socket");

	if (more >= 0)
		more = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
	while (more >= 0 &&
	       (more = sd_bus_message_enter_container(reply, 'r', "ssssssouso")) > 0) {
		more = sd_bus_message_read_basic(reply, 's', &name);
		if (more >= 0)
			more = add_name(ret_names, name);
		if (more >= 0)
			more = sd_bus_message_skip(reply, "sssssouso");
		if (more >= 0)
			more = sd_bus_message_exit_container(reply);
	}
	return more < 0 ? bus_explain("systemd", "sockets cannot be listed", more, &error,
				      diag)
			: 0;
}

/* Whether one of its addresses is on the network: no path, no abstract name. */
static int find_address(struct units *units, const char *path, char *ret_address,
			size_t size, struct diag *diag)
{
	OWN(bus_own_message) sd_bus_message *reply = NULL;
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *type, *address;
	int more = sd_bus_get_property(units->bus, BUS_MANAGER, path, SOCKET_INTERFACE,
				       "Listen", &error, &reply, "a(ss)");

	ret_address[0] = '\0';
	if (more >= 0)
		more = sd_bus_message_enter_container(reply, 'a', "(ss)");
	while (more >= 0 &&
	       (more = sd_bus_message_read(reply, "(ss)", &type, &address)) > 0)
		if (address[0] != '/' && address[0] != '@' &&
		    strcmp(type, "Netlink") != 0)
			snprintf(ret_address, size, "%s", address);
	return more < 0 ? bus_explain(path, "Listen", more, &error, diag) : 0;
}

/* The services it starts: those it triggers, or one for each connection. */
static int list_services(struct units *units, const char *path, const char *socket,
			 struct names *ret_names, struct diag *diag)
{
	OWN(bus_own_message) sd_bus_message *reply = NULL;
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	char instance[NAME_SIZE];
	const char *service;
	int is_each = 0;
	int more = bus_get_trivial(units, path, SOCKET_INTERFACE, "Accept", 'b', &is_each,
				   diag);

	if (more)
		return more;
	if (is_each) {
		snprintf(instance, sizeof(instance), "%.*s@0.service",
			 (int)(strlen(socket) - strlen(".socket")), socket);
		return add_name(ret_names, instance)
			       ? diag_fail(diag, E2BIG, socket, "too long a name")
			       : 0;
	}
	more = sd_bus_get_property(units->bus, BUS_MANAGER, path, BUS_UNIT_INTERFACE,
				   "Triggers", &error, &reply, "as");
	if (more >= 0)
		more = sd_bus_message_enter_container(reply, 'a', "s");
	while (more >= 0 && (more = sd_bus_message_read_basic(reply, 's', &service)) > 0)
		more = add_name(ret_names, service);
	return more < 0 ? bus_explain(path, "Triggers", more, &error, diag) : 0;
}

static int check_service(struct units *units, const char *socket, const char *address,
			 const char *service, const char *user, uid_t uid,
			 struct diag *diag)
{
	OWN(own_pointer) char *path = NULL;
	char runs_as[UNITS_TEXT_SIZE], number[16];
	int error = bus_load_unit(units, service, &path, diag);

	if (!error)
		error = bus_get_text(units, path, BUS_SERVICE_INTERFACE, "User", runs_as,
				     sizeof(runs_as), diag);
	if (error)
		return error;
	snprintf(number, sizeof(number), "%u", uid);
	if (strcmp(runs_as, user) != 0 && strcmp(runs_as, number) != 0)
		return 0;
	return diag_refuse(
		diag, socket,
		"listens on '%.60s' for '%.80s', which runs as the workload user: "
		"the policy takes that socket for root's; stop it",
		address, service);
}

static int check_socket(struct units *units, const char *socket, const char *user,
			uid_t uid, struct diag *diag)
{
	OWN(own_pointer) struct names *services = calloc(1, sizeof(*services));
	OWN(own_pointer) char *path = NULL;
	char address[NAME_SIZE];
	int error = services ? 0 : diag_no_memory(diag);

	if (!error)
		error = bus_load_unit(units, socket, &path, diag);
	if (!error)
		error = find_address(units, path, address, sizeof(address), diag);
	if (error || !address[0])
		return error;
	error = list_services(units, path, socket, services, diag);
	for (size_t i = 0; !error && i < services->count; i++)
		error = check_service(units, socket, address, services->names[i], user,
				      uid, diag);
	return error;
}

int handed_check(struct units *units, const char *user, uid_t uid, struct diag *diag)
{
	OWN(own_pointer) struct names *sockets = calloc(1, sizeof(*sockets));
	int error = sockets ? list_sockets(units, sockets, diag) : diag_no_memory(diag);

	for (size_t i = 0; !error && i < sockets->count; i++)
		error = check_socket(units, sockets->names[i], user, uid, diag);
	return error;
}
