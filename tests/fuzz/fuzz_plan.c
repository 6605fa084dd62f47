// SPDX-License-Identifier: GPL-2.0-or-later
// Plans: what is accepted holds 1 to 64 attempts, and nothing else.
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "agent/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct plan plan;
	struct diag diag = {0};

	memset(&plan, 0x5a, sizeof(plan));
	if (plan_decode(data, size, "plan", &plan, &diag) != 0) {
		assert(diag.kind == DIAG_REFUSED && diag.text[0]);
		assert(plan.request_count == 0x5a5a5a5a5a5a5a5a);
		return 0;
	}
	assert(size <= PLAN_SIZE_MAX);
	assert(plan.request_count >= 1 && plan.request_count <= PLAN_REQUESTS_MAX);
	for (size_t i = 0; i < plan.request_count; i++) {
		const struct request *request = &plan.requests[i];

		assert(request->op == REQUEST_CONNECT ||
		       request->op == REQUEST_HANDSHAKE);
		assert(request->port >= 1 && request->port <= 65535);
		assert(request->timeout_ms >= 1 &&
		       request->timeout_ms <= REQUEST_TIMEOUT_MAX_MS);
		assert(request->address[0] && !request->target[0]);
	}
	return 0;
}
