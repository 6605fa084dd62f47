// SPDX-License-Identifier: GPL-2.0-or-later
// What is loaded, for a person.
#include "policy/kernel/show.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include <linux/netfilter.h>

#include "common/moment.h"
#include "policy/kernel/kform.h"
#include "policy/kernel/listing.h"

/* What every rule of a window begins with; nft prints times as TZ has them, and a
 * child of ours lists in UTC. */
static const char rule_start[] = "\t\t";
static const char window_start[] = "meta time \"";
static const char window_between[] = "\"-\"";
static const char counter_start[] = "counter packets ";

/* The end of the window, in seconds since 1970; -1 if no rule begins with one. */
static int64_t find_end(const char *listing)
{
	char start[sizeof(rule_start) + sizeof(window_start)];
	const char *at;
	struct tm utc = {0};

	snprintf(start, sizeof(start), "%s%s", rule_start, window_start);
	at = strstr(listing, start);
	at = at ? strstr(at, window_between) : NULL;
	if (!at || !strptime(at + strlen(window_between), "%Y-%m-%d %H:%M:%S", &utc))
		return -1;
	return timegm(&utc);
}

/* Whether a chain of that name has a rule. */
static bool has_rules(const struct kform *form, const char *chain)
{
	for (size_t i = 0; i < form->chain_count; i++)
		if (strcmp(form->chains[i].name, chain) == 0)
			return form->chains[i].rule_count > 0;
	return false;
}

/* Whether every rule of the table ends as the guard's do: rejecting, as "icmpx
 * admin-prohibited". */
static bool is_all_reject(const struct kform *form)
{
	static const char end[] = " reject(type=2 code=3)";

	for (size_t i = 0; i < form->line_count; i++) {
		const struct kform_line *line = &form->lines[i];
		const char *text = form->text.data + line->offset;

		if (line->kind == KFORM_RULE &&
		    (line->size < strlen(end) ||
		     memcmp(text + line->size - strlen(end), end, strlen(end)) != 0))
			return false;
	}
	return true;
}

static void put_left(struct buffer *out, const char *clock, int64_t left_ms)
{
	buffer_print(out, "  %s: ", clock);
	if (left_ms > 0)
		buffer_print(out, "%" PRId64 " s left\n", left_ms / 1000);
	else
		buffer_print(out, "over\n");
}

static void put_state(const struct kform *form, const char *listing, int64_t left_ms,
		      int64_t now_ms, struct buffer *out)
{
	int64_t end = find_end(listing);

	if (has_rules(form, "scoped_output") && end >= 0) {
		bool is_open = left_ms > 0 && end * 1000 > now_ms;
		char moment[MOMENT_SIZE];

		buffer_print(out, "table inet %s: %s window\n", form->table,
			     is_open ? "an open" : "an expired");
		buffer_print(out, "  its end: %s\n", moment_format(end, moment));
		put_left(out, "wall clock", end * 1000 - now_ms);
		put_left(out, "kernel's clock", left_ms);
	} else if (has_rules(form, "output") && has_rules(form, "marked_output") &&
		   is_all_reject(form)) {
		buffer_print(out, "table inet %s: the deny guard\n", form->table);
	} else {
		buffer_print(out, "table inet %s: neither window nor guard\n",
			     form->table);
	}
}

/* Text that others may have put into the kernel: comments, names. */
static void put_plain(struct buffer *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buffer_add_byte(out, text[i] < ' ' || text[i] > '~' ? '?' : text[i]);
}

/* A rule as its packets and its text, without the window that is said above. */
static void put_rule(struct buffer *out, const char *text, size_t size)
{
	const char *end = text + size, *after,
		   *counter = memmem(text, size, counter_start, strlen(counter_start));
	size_t digits;

	if (size > strlen(window_start) &&
	    memcmp(text, window_start, strlen(window_start)) == 0) {
		after = memmem(text, size, window_between, strlen(window_between));
		after = after ? memchr(after + strlen(window_between), '"',
				       (size_t)(end - after) - strlen(window_between))
			      : NULL;
		text = after && after + 2 < end ? after + 2 : text;
	}
	if (!counter || counter < text) {
		buffer_print(out, "             -  ");
		put_plain(out, text, (size_t)(end - text));
		buffer_add_byte(out, '\n');
		return;
	}
	after = counter + strlen(counter_start);
	digits = strspn(after, "0123456789");
	buffer_print(out, "    %10.*s  ", (int)digits, after);
	put_plain(out, text, (size_t)(counter - text));
	/* "bytes N " and what follows */
	after += digits + strlen(" bytes ");
	after += strspn(after, "0123456789");
	after += *after == ' ';
	if (after < end)
		put_plain(out, after, (size_t)(end - after));
	buffer_add_byte(out, '\n');
}

/* Chains and their rules; `*is_chain` is whether the lines before opened a chain. */
static void put_line(struct buffer *out, const char *line, size_t size, bool *is_chain)
{
	static const char chain[] = "\tchain ", hook[] = "\t\ttype ";
	bool is_inner = size > strlen(rule_start) &&
			memcmp(line, rule_start, strlen(rule_start)) == 0;

	if (size > strlen(chain) + 1 && memcmp(line, chain, strlen(chain)) == 0) {
		*is_chain = true;
		buffer_print(out, "  ");
		put_plain(out, line + 1, size - 3);
		buffer_add_byte(out, '\n');
	} else if (!is_inner) {
		*is_chain = false;
	} else if (*is_chain &&
		   (size < strlen(hook) || memcmp(line, hook, strlen(hook)) != 0)) {
		put_rule(out, line + strlen(rule_start), size - strlen(rule_start));
	}
}

static void put_listing(const char *listing, struct buffer *out)
{
	bool is_chain = false;

	buffer_print(out, "     packets  rule\n");
	while (*listing) {
		size_t size = strcspn(listing, "\n");

		put_line(out, listing, size, &is_chain);
		listing += size + (listing[size] == '\n');
	}
}

static int64_t shortest_left(const struct kform *form)
{
	int64_t left = -1;

	for (size_t i = 0; i < form->timed_count; i++)
		if (!form->timed[i].is_permanent &&
		    (left < 0 || (int64_t)form->timed[i].remaining_ms < left))
			left = (int64_t)form->timed[i].remaining_ms;
	return left;
}

int show_table(const char *table, int64_t now_ms, struct buffer *out, struct diag *diag)
{
	OWN(own_bytes) struct bytes listing = {0};
	OWN(kform_release) struct kform form = {0};
	OWN(nfnl_close) struct nfnl nfnl = {0};
	int error = nfnl_open(&nfnl, diag);

	if (!error)
		error = kform_read(&nfnl, NFPROTO_INET, table, 0, &form, diag);
	if (!error && !form.is_present)
		error = diag_refuse(diag, table,
				    "no such table of family inet: nothing is enforced; "
				    "net-policy revoke loads the guard");
	if (!error)
		error = listing_read(table, LISTING_TEXT, &listing, diag);
	if (error)
		return error;
	put_state(&form, listing.data, shortest_left(&form), now_ms, out);
	put_listing(listing.data, out);
	return 0;
}
