/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls to systemd's manager and properties of its units, for units and unit_form. */
#ifndef COLLECTOR_BUS_H
#define COLLECTOR_BUS_H

#include <stddef.h>

#include <systemd/sd-bus.h>

#include "collector/units.h"
#include "common/diag.h"

#define BUS_MANAGER "org.freedesktop.systemd1"
#define BUS_MANAGER_PATH "/org/freedesktop/systemd1"
#define BUS_MANAGER_INTERFACE BUS_MANAGER ".Manager"
#define BUS_UNIT_INTERFACE BUS_MANAGER ".Unit"
#define BUS_SERVICE_INTERFACE BUS_MANAGER ".Service"

/* For OWN(). */
void bus_own_message(sd_bus_message **message);
void bus_own_error(sd_bus_error *error);

/* Calls a method of the manager's object `path`; what follows `types` is as in
 * sd_bus_message_append(3). Negative on failure, like sd-bus's own functions; the
 * caller owns `*ret_reply`. */
int bus_call(struct units *units, const char *path, const char *interface,
	     const char *method, sd_bus_message **ret_reply, sd_bus_error *error,
	     const char *types, ...);

/* Says what failed, in the manager's words if there are any. */
int bus_explain(const char *place, const char *what, int failed,
		const sd_bus_error *error, struct diag *diag);

/* The object of a unit, loaded if it was not; the caller owns the path. */
int bus_load_unit(struct units *units, const char *name, char **ret_path,
		  struct diag *diag);

int bus_get_text(struct units *units, const char *path, const char *interface,
		 const char *property, char *ret_text, size_t size, struct diag *diag);

/* A property of one of sd-bus's trivial types. */
int bus_get_trivial(struct units *units, const char *path, const char *interface,
		    const char *property, char type, void *ret_value, struct diag *diag);

#endif
