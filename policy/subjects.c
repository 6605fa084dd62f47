// SPDX-License-Identifier: GPL-2.0-or-later
// The subjects: the workload's uid and its subordinate uid ranges.
#include "policy/subjects.h"

#include <inttypes.h>
#include <string.h>

static int refuse(uint32_t first, uint32_t last, const char *why, struct diag *diag)
{
	return diag_refuse(diag, NULL, "uids %" PRIu32 " to %" PRIu32 ": %s", first, last,
			   why);
}

int subjects_add(struct subjects *subjects, uint32_t first, uint32_t last,
		 struct diag *diag)
{
	struct subjects grown = {0};
	struct subject_range added = {first, last};
	size_t i = 0;

	if (first > last)
		return refuse(first, last, "an empty range", diag);
	if (first == 0 || last == UINT32_MAX)
		return refuse(first, last, "not an ordinary user's", diag);
	/* No overflow in "+ 1": every last is below UINT32_MAX. */
	for (; i < subjects->count && subjects->ranges[i].last + 1 < first; i++)
		grown.ranges[grown.count++] = subjects->ranges[i];
	for (; i < subjects->count && subjects->ranges[i].first <= last + 1; i++) {
		if (subjects->ranges[i].first < added.first)
			added.first = subjects->ranges[i].first;
		if (subjects->ranges[i].last > added.last)
			added.last = subjects->ranges[i].last;
	}
	if (grown.count + 1 + (subjects->count - i) > SUBJECTS_RANGES_MAX)
		return refuse(first, last, "one range more than can be told apart", diag);
	grown.ranges[grown.count++] = added;
	for (; i < subjects->count; i++)
		grown.ranges[grown.count++] = subjects->ranges[i];
	*subjects = grown;
	return 0;
}
