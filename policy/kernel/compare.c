// SPDX-License-Identifier: GPL-2.0-or-later
// Whether the kernel holds what the policy compiles to, and what differs.
#include "policy/kernel/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/buffer.h"
#include "common/canonical.h"
#include "common/clock.h"
#include "common/json.h"
#include "policy/kernel/kdiff.h"
#include "policy/kernel/pair.h"
#include "policy/kernel/place.h"
#include "policy/ruleset.h"
#include "policy/semantic.h"

#define COMPARE_ENTRIES_LIMIT (64UL << 20) /* bytes; NORMALIZE_LIMIT */
#define COMPARE_ENTRY_SHOWN 600            /* bytes of an entry in a report */
#define COMPARE_ENTRIES_SHOWN 10

/* Both sides, decoded. */
struct sides {
	const struct compare_request *request;
	struct pair pair;
	struct kform live, wanted;
	struct buffer report;
	size_t differences;
};

static void release_sides(struct sides *sides)
{
	pair_release(&sides->pair);
	kform_release(&sides->live);
	kform_release(&sides->wanted);
	own_buffer(&sides->report);
}

void comparison_release(struct comparison *comparison)
{
	own_bytes(&comparison->report);
	*comparison = (struct comparison){0};
}

/* --- timed elements ------------------------------------------------------------ */

static int compare_keys(const struct kform_timed *a, const struct kform_timed *b)
{
	int order = strcmp(a->set, b->set);

	if (!order && a->key_size != b->key_size)
		order = a->key_size < b->key_size ? -1 : 1;
	return order ? order : memcmp(a->key, b->key, sizeof(a->key));
}

static void start_timed(struct sides *sides, const struct kform *form,
			const struct kform_timed *timed)
{
	sides->differences++;
	buffer_print(&sides->report, "set %s: element ", timed->set);
	kdiff_put_key(&sides->report, form, timed->set, timed->key, timed->key_size);
}

/* Where an element ends against where the window does. Its end is known up to the
 * time that the dump took: what counts is the end it has at the least. */
static void compare_end(struct sides *sides, const struct kform_timed *timed)
{
	int64_t expires = sides->request->expires_ms, left = (int64_t)timed->remaining_ms;
	int64_t late = sides->pair.before_ms + left - expires,
		early = expires - (sides->pair.after_ms + left);

	if (!expires)
		return;
	if (left > INT64_MAX / 2 || late > COMPARE_END_TOLERANCE_MS) {
		start_timed(sides, &sides->live, timed);
		buffer_print(&sides->report,
			     " outlives the window\n\tmust be: gone in %" PRId64
			     " s\n\tis:      gone in %" PRIu64 " s\n",
			     (expires - sides->pair.before_ms) / 1000,
			     timed->remaining_ms / 1000);
	} else if (early > COMPARE_END_TOLERANCE_MS) {
		start_timed(sides, &sides->live, timed);
		buffer_print(&sides->report,
			     " ends before the window does\n\tmust be: gone in %" PRId64
			     " s\n\tis:      gone in %" PRIu64 " s\n",
			     (expires - sides->pair.after_ms) / 1000,
			     timed->remaining_ms / 1000);
	}
}

static void compare_element(struct sides *sides, const struct kform_timed *wanted,
			    const struct kform_timed *live)
{
	if (live->is_permanent != wanted->is_permanent) {
		start_timed(sides, &sides->live, live);
		buffer_print(&sides->report, "%s\n",
			     live->is_permanent ? " is permanent: it must end with the "
						  "window"
						: " has a time-out: it must have none");
		return;
	}
	if (live->has_more != wanted->has_more) {
		start_timed(sides, &sides->live, live);
		buffer_print(&sides->report, " has other attributes than a time-out\n");
	}
	if (!live->is_permanent)
		compare_end(sides, live);
}

/* Whether timed elements may be gone, or must be. */
static bool is_over(const struct sides *sides, int64_t margin_ms)
{
	int64_t expires = sides->request->expires_ms;

	return expires && sides->pair.after_ms >= expires + margin_ms;
}

static void compare_timed(struct sides *sides)
{
	const struct kform *wanted = &sides->wanted, *live = &sides->live;
	bool may_be_gone = is_over(sides, -COMPARE_END_TOLERANCE_MS);
	size_t w = 0, l = 0;

	while (w < wanted->timed_count || l < live->timed_count) {
		const struct kform_timed *a = &wanted->timed[w], *b = &live->timed[l];
		int order = w == wanted->timed_count ? 1
			    : l == live->timed_count ? -1
						     : compare_keys(a, b);

		if (order < 0 && !may_be_gone) {
			start_timed(sides, wanted, a);
			buffer_print(&sides->report, " is missing\n");
		} else if (order > 0) {
			start_timed(sides, live, b);
			buffer_print(&sides->report, " is not of the policy\n");
		} else if (order == 0) {
			compare_element(sides, a, b);
		}
		w += order <= 0;
		l += order >= 0;
	}
}

/* --- listings ------------------------------------------------------------------ */

static bool is_same(const struct bytes *a, const struct bytes *b)
{
	return a->size == b->size && (!a->size || memcmp(a->data, b->data, a->size) == 0);
}

/* Entries as an array again; json_parse() wants an object around it. */
static int parse_entries(const struct bytes *entries, json_t **ret_entries,
			 struct diag *diag)
{
	OWN(own_buffer) struct buffer text = {0};
	OWN(own_bytes) struct bytes bytes = {0};
	OWN(own_json) json_t *root = NULL;
	int error;

	buffer_print(&text, "{\"entries\":");
	buffer_add(&text, entries->data, entries->size);
	buffer_add_byte(&text, '}');
	error = buffer_take(&text, &bytes, diag);
	if (!error)
		error = json_parse(bytes.data, bytes.size, COMPARE_ENTRIES_LIMIT,
				   "entries", &root, diag);
	if (error)
		return error;
	*ret_entries = json_incref(json_object_get(root, "entries"));
	return 0;
}

static int put_entry(struct buffer *report, const char *label, const json_t *entry,
		     struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	int error = 0;

	if (entry)
		error = canonical_write(entry, &text, diag);
	if (error)
		return error;
	buffer_print(report, "\t%s%.*s%s\n", label,
		     text.size > COMPARE_ENTRY_SHOWN ? COMPARE_ENTRY_SHOWN
						     : (int)text.size,
		     text.data ? text.data : "nothing",
		     text.size > COMPARE_ENTRY_SHOWN ? "..." : "");
	return 0;
}

/* Two listings that differ where the kernel forms do not: comments, and what the
 * library noted down for itself. Entry by entry is enough to find it. */
static int report_entries(struct sides *sides, const json_t *wanted, const json_t *live,
			  struct diag *diag)
{
	size_t count = json_array_size(wanted), shown = 0;
	int error = 0;

	if (json_array_size(live) > count)
		count = json_array_size(live);
	for (size_t i = 0; !error && i < count; i++) {
		const json_t *a = json_array_get(wanted, i), *b = json_array_get(live, i);

		if (a && b && json_equal(a, b))
			continue;
		sides->differences++;
		if (++shown > COMPARE_ENTRIES_SHOWN)
			continue;
		buffer_print(&sides->report,
			     "entry %zu of the listing differs, and the kernel form "
			     "does not\n",
			     i + 1);
		error = put_entry(&sides->report, "must be: ", a, diag);
		if (!error)
			error = put_entry(&sides->report, "is:      ", b, diag);
	}
	return error;
}

/* Elements that have a time-out are looked at apart: they end without a commit, so a
 * listing made a moment later may lack them. */
static void drop_timed_elements(json_t *entries)
{
	json_t *entry, *flag;
	size_t i, k;

	json_array_foreach(entries, i, entry)
	{
		json_t *set = json_object_get(entry, "set");

		json_array_foreach(json_object_get(set, "flags"), k, flag)
		{
			const char *name = json_string_value(flag);

			if (name && strcmp(name, "timeout") == 0)
				json_object_del(set, "elem");
		}
	}
}

/* The entries to compare: all, or what the semantic digest keeps. */
static int take_entries(const struct sides *sides, const struct bytes *text,
			json_t **ret_entries, struct diag *diag)
{
	OWN(own_json) json_t *all = NULL;
	int error = parse_entries(text, &all, diag);

	if (error)
		return error;
	drop_timed_elements(all);
	if (sides->request->is_without_inert)
		return semantic_reduce(all, ret_entries, diag);
	*ret_entries = TAKE_POINTER(all);
	return 0;
}

static int compare_entries(struct sides *sides, struct diag *diag)
{
	const struct bytes *wanted = &sides->pair.wanted.entries,
			   *live = &sides->pair.live.entries;
	OWN(own_json) json_t *wanted_entries = NULL;
	OWN(own_json) json_t *live_entries = NULL;
	int error;

	/* What differs in kernel form is reported from there, in nft's own syntax
	 * beside the attributes. */
	if (sides->pair.is_listed_alike || sides->differences || !live->size ||
	    !wanted->size || is_same(wanted, live))
		return 0;
	error = take_entries(sides, wanted, &wanted_entries, diag);
	if (!error)
		error = take_entries(sides, live, &live_entries, diag);
	if (!error && !json_equal(wanted_entries, live_entries))
		error = report_entries(sides, wanted_entries, live_entries, diag);
	return error;
}

/* --- the verdict --------------------------------------------------------------- */

static int decode(struct bytes *messages, bool is_without_inert, struct kform *ret_form,
		  struct diag *diag)
{
	if (!messages->size)
		return 0;
	return kform_decode(messages, is_without_inert ? KFORM_WITHOUT_INERT : 0,
			    ret_form, diag);
}

static int read_sides(struct sides *sides, bool has_listings, struct diag *diag)
{
	const struct compare_request *request = sides->request;
	int error = pair_read(request->table, request->text, has_listings, &sides->pair,
			      diag);

	if (!error)
		error = decode(&sides->pair.live.messages, request->is_without_inert,
			       &sides->live, diag);
	if (!error)
		error = decode(&sides->pair.wanted.messages, request->is_without_inert,
			       &sides->wanted, diag);
	return error;
}

static int compare_sides(struct sides *sides, struct diag *diag)
{
	struct kdiff_side wanted = {&sides->wanted, sides->pair.wanted.listing.data},
			  live = {&sides->live, sides->pair.live.listing.data};
	int error;

	if (!sides->live.is_present) {
		sides->differences++;
		buffer_print(&sides->report, "the table is missing\n");
		return 0;
	}
	error = kdiff_report(&wanted, &live, &sides->report, &sides->differences, diag);
	if (error)
		return error;
	compare_timed(sides);
	return compare_entries(sides, diag);
}

/* The two listings must be there for "equal"; a difference stands without. */
static int check_listings(struct sides *sides, struct diag *diag)
{
	const struct pair *pair = &sides->pair;
	const struct diag *missing =
		pair->live.no_entries.kind != DIAG_NONE     ? &pair->live.no_entries
		: pair->wanted.no_entries.kind != DIAG_NONE ? &pair->wanted.no_entries
							    : NULL;
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];

	if (!missing)
		return 0;
	if (!sides->differences) {
		*diag = *missing;
		return -EIO;
	}
	buffer_print(&sides->report,
		     "nft could not list the table, so rules are shown in kernel form "
		     "alone: %s\n",
		     diag_render(missing, line, sizeof(line)));
	return 0;
}

/* The digest of the live side's entries: of what was compared of them. */
static int digest_entries(const struct sides *sides, char ret_sha256[DIGEST_TEXT_SIZE],
			  struct diag *diag)
{
	const struct bytes *entries = &sides->pair.live.entries;
	OWN(own_json) json_t *all = NULL;
	int error = 0;

	if (!entries->size)
		return 0;
	if (!sides->request->is_without_inert) {
		digest_bytes(entries->data, entries->size, ret_sha256);
		return 0;
	}
	error = parse_entries(entries, &all, diag);
	return error ? error : semantic_digest(all, ret_sha256, diag);
}

static int finish(struct sides *sides, struct comparison *ret_comparison,
		  struct diag *diag)
{
	struct comparison comparison = {
		.is_equal = !sides->differences,
		.difference_count = sides->differences,
		.generation = sides->pair.generation,
	};
	int error = digest_entries(sides, comparison.ruleset_sha256, diag);

	if (!error)
		error = buffer_take(&sides->report, &comparison.report, diag);
	if (error)
		return error;
	if (sides->live.is_present)
		kform_digest(&sides->live, comparison.kernel_sha256);
	*ret_comparison = comparison;
	return 0;
}

static int compare_once(const struct compare_request *request, bool has_listings,
			struct comparison *ret_comparison, struct diag *diag)
{
	OWN(release_sides) struct sides sides = {.request = request};
	int error = read_sides(&sides, has_listings, diag);

	if (!error)
		error = compare_sides(&sides, diag);
	if (!error)
		error = check_listings(&sides, diag);
	return error ? error : finish(&sides, ret_comparison, diag);
}

int compare_table(const struct compare_request *request,
		  struct comparison *ret_comparison, struct diag *diag)
{
	struct comparison again = {0};
	struct diag ignored = {0};
	int error = compare_once(request, false, ret_comparison, diag);

	if (error || ret_comparison->is_equal)
		return error;
	/* For the report alone: with nft's syntax. If that cannot be had any more,
	 * the verdict and its report stand as they are. */
	if (compare_once(request, true, &again, &ignored) == 0 && !again.is_equal) {
		comparison_release(ret_comparison);
		*ret_comparison = again;
		return 0;
	}
	comparison_release(&again);
	return 0;
}

int compare_policy(const struct site *site, const struct profile *profile, uint32_t uid,
		   const struct subjects *subjects, struct comparison *ret_comparison,
		   struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	struct compare_request request = {
		.table = site->table,
		.expires_ms = profile->expires_at_unix * 1000,
	};
	int64_t now_ms = clock_wall_ms();
	int error = place_check_cgroups(diag);

	if (error)
		return error;
	/* After the expiry the rules are still compared: they must be the window's,
	 * without its elements. An expired profile does not compile, so it is
	 * compiled as of its last second; that changes the elements alone. */
	if (now_ms >= request.expires_ms - 1000)
		now_ms = request.expires_ms - 1000;
	error = ruleset_compile(site, profile, uid, subjects, now_ms, RULESET_RELOAD,
				&text, diag);
	request.text = text.data;
	return error ? error : compare_table(&request, ret_comparison, diag);
}

int compare_guard(const char *table, const struct subjects *subjects,
		  struct comparison *ret_comparison, struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	struct compare_request request = {.table = table, .is_without_inert = true};
	int error = ruleset_compile_guard(table, subjects, RULESET_RELOAD, &text, diag);

	request.text = text.data;
	return error ? error : compare_table(&request, ret_comparison, diag);
}
