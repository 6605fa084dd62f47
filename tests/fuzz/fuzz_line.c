// SPDX-License-Identifier: GPL-2.0-or-later
// Request lines: whatever is accepted is within its op's bounds, and a canonical
// rewriting of it decodes to the same; a refusal leaves no trace but its cause.
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "agent/request.h"
#include "common/canonical.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bounds(const struct request *request)
{
	struct sockaddr_storage address;
	socklen_t size;

	if (request->address[0])
		assert(inet_parse(request->address, 1, &address, &size) == 0);
	assert(request->port >= 0 && request->port <= 65535);
	assert(request->timeout_ms >= 0 && request->timeout_ms <= REQUEST_TIMEOUT_MAX_MS);
	/* No sum of an expiry with a clock may overflow. */
	assert(request->expires_at_unix >= 0 &&
	       request->expires_at_unix < INT64_MAX / 1000000);
	assert(memchr(request->target, '\0', sizeof(request->target)));
	for (const char *c = request->target; *c; c++)
		assert(*c > ' ' && *c < 0x7f); /* nothing that ends a header line */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request request, again, untouched;
	enum request_op op, op_again;
	OWN(own_json) json_t *root = NULL;
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	memset(&request, 0x5a, sizeof(request));
	memset(&untouched, 0x5a, sizeof(untouched));
	if (request_decode((const char *)data, size, &request, &op, &diag) != 0) {
		assert(diag.kind == DIAG_REFUSED && diag.text[0]);
		assert(op <= REQUEST_OP_COUNT);
		assert(memcmp(&request, &untouched, sizeof(request)) == 0);
		return 0;
	}
	assert(op < REQUEST_OP_COUNT && request.op == op && size <= REQUEST_LINE_MAX);
	check_bounds(&request);
	assert(json_parse(data, size, REQUEST_LINE_MAX, "line", &root, &diag) == 0);
	assert(canonical_write(root, &bytes, &diag) == 0);
	assert(request_decode(bytes.data, bytes.size, &again, &op_again, &diag) == 0);
	assert(memcmp(&request, &again, sizeof(request)) == 0);
	return 0;
}
