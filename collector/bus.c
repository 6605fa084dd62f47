// SPDX-License-Identifier: GPL-2.0-or-later
// Calls to systemd's manager and properties of its units.
#include "collector/bus.h"

#include <string.h>

#include "common/own.h"

enum { CALL_MS = 20000 };

void bus_own_message(sd_bus_message **message)
{
	sd_bus_message_unref(*message);
	*message = NULL;
}

void bus_own_error(sd_bus_error *error)
{
	sd_bus_error_free(error);
}

int bus_call(struct units *units, const char *path, const char *interface,
	     const char *method, sd_bus_message **ret_reply, sd_bus_error *error,
	     const char *types, ...)
{
	OWN(bus_own_message) sd_bus_message *message = NULL;
	va_list arguments;
	int failed = sd_bus_message_new_method_call(units->bus, &message, BUS_MANAGER,
						    path, interface, method);

	if (failed < 0)
		return failed;
	va_start(arguments, types);
	failed = types ? sd_bus_message_appendv(message, types, arguments) : 0;
	va_end(arguments);
	if (failed < 0)
		return failed;
	return sd_bus_call(units->bus, message, (uint64_t)CALL_MS * 1000, error,
			   ret_reply);
}

int bus_explain(const char *place, const char *what, int failed,
		const sd_bus_error *error, struct diag *diag)
{
	if (error->message)
		return diag_fail(diag, 0, place, "%s: %s", what, error->message);
	return diag_fail(diag, -failed, place, "%s", what);
}

int bus_load_unit(struct units *units, const char *name, char **ret_path,
		  struct diag *diag)
{
	OWN(bus_own_message) sd_bus_message *reply = NULL;
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *path;
	int failed = bus_call(units, BUS_MANAGER_PATH, BUS_MANAGER_INTERFACE, "LoadUnit",
			      &reply, &error, "s", name);

	if (failed >= 0)
		failed = sd_bus_message_read(reply, "o", &path);
	if (failed < 0)
		return bus_explain(name, "cannot be loaded", failed, &error, diag);
	*ret_path = strdup(path);
	return *ret_path ? 0 : diag_no_memory(diag);
}

int bus_get_text(struct units *units, const char *path, const char *interface,
		 const char *property, char *ret_text, size_t size, struct diag *diag)
{
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	OWN(own_pointer) char *text = NULL;
	int failed = sd_bus_get_property_string(units->bus, BUS_MANAGER, path, interface,
						property, &error, &text);

	if (failed < 0)
		return bus_explain(path, property, failed, &error, diag);
	if (strlen(text) >= size)
		return diag_refuse(diag, path,
				   "%s is longer than %zu bytes; render the site again "
				   "with net-site",
				   property, size - 1);
	strcpy(ret_text, text);
	return 0;
}

int bus_get_trivial(struct units *units, const char *path, const char *interface,
		    const char *property, char type, void *ret_value, struct diag *diag)
{
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	int failed = sd_bus_get_property_trivial(units->bus, BUS_MANAGER, path, interface,
						 property, &error, type, ret_value);

	return failed < 0 ? bus_explain(path, property, failed, &error, diag) : 0;
}
