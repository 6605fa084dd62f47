// SPDX-License-Identifier: GPL-2.0-or-later
// One line for each record: its review, or why there is none.
#include <jansson.h>

#include "common/canonical.h"
#include "verifier/report_formats.h"
#include "verifier/review.h"

static int write_undecided(const struct report_entry *entry, struct bytes *ret_bytes,
			   struct diag *diag)
{
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	OWN(own_json)
	json_t *root = json_pack("{s:s, s:s, s:s}", "schema", "netproof.undecided.v1",
				 "record_sha256", entry->record_sha256, "reason",
				 diag_render(entry->undecided, line, sizeof(line)));

	return root ? canonical_write(root, ret_bytes, diag) : diag_no_memory(diag);
}

static void add_json(struct buffer *out, const struct report_entry *entry, size_t index)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};
	int error = entry->verdict
			    ? review_write(entry->case_, entry->verdict, &bytes, &diag)
			    : write_undecided(entry, &bytes, &diag);

	(void)index;
	if (error) {
		out->is_short = true;
		return;
	}
	buffer_add(out, bytes.data, bytes.size);
	buffer_add_byte(out, '\n');
}

const struct report_format report_json = {.name = "json", .add = add_json};
