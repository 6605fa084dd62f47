// SPDX-License-Identifier: GPL-2.0-or-later
// The four phases (SPEC 7.3), in their order.
#include "collector/phases.h"

#include <stdlib.h>

#include "collector/phase.h"

int phases_run(struct session *session, struct diag *diag)
{
	static int (*const runs[])(struct session *, struct probe_set *,
				   struct diag *) = {
		phase_run_active, phase_run_stop_rollback, phase_run_expiry,
		phase_run_failed_start};
	OWN(own_pointer) struct probe_set *set = calloc(1, sizeof(*set));
	int error = set ? 0 : diag_no_memory(diag);

	for (size_t i = 0; !error && i < ARRAY_SIZE(runs); i++)
		error = runs[i](session, set, diag);
	return error;
}
