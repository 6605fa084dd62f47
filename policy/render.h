/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text from templates: "@name@" becomes a value, everything else stays. */
#ifndef POLICY_RENDER_H
#define POLICY_RENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/diag.h"
#include "common/own.h"

struct render_variable {
	const char *name; /* lower-case letters and '_' */
	const char *value;
};

/* Writes `text` to `ret_bytes` (owned by the caller, a NUL after the end) with
 * every "@name@" replaced by the value of that name; a value is not searched
 * again. An '@' that does not start such a name stays ("user@.service"). A name
 * that is not in `variables` is refused; `place` names the template. */
int render_text(const char *text, size_t size, const char *place,
		const struct render_variable *variables, size_t count,
		struct bytes *ret_bytes, struct diag *diag);

/* Whether systemd takes `value` as it stands wherever a template may put it: no
 * blank, quote, backslash, '$', '%' and the like. */
bool render_is_plain(const char *value);

#endif
