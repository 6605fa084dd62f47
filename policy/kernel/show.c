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
static const char window_start[] = "meta time \"";
static const char window_between[] = "\"-\"";
static const char counter_start[] = "counter packets ";

/* The end of the window, in seconds since 1970; -1 if no rule has one. */
static int64_t find_end(const char *listing)
{
	const char *at = strstr(listing, window_start);
	struct tm utc = {0};

	at = at ? strstr(at, window_between) : NULL;
	if (!at || !strptime(at + strlen(window_between), "%Y-%m-%d %H:%M:%S", &utc))
		return -1;
	return timegm(&utc);
}

/* Whether a chain of that name has a rule. */
static bool has_rules(const char *listing, const char *chain)
{
	char start[64];
	const char *at, *end;

	snprintf(start, sizeof(start), "chain %s {", chain);
	at = strstr(listing, start);
	end = at ? strstr(at, "}\n") : NULL;
	at = at ? strstr(at, counter_start) : NULL;
	return at && end && at < end;
}

static void put_left(struct buffer *out, const char *clock, int64_t left_ms)
{
	buffer_print(out, "  %s: ", clock);
	if (left_ms > 0)
		buffer_print(out, "%" PRId64 " s left\n", left_ms / 1000);
	else
		buffer_print(out, "over\n");
}

static void put_state(const char *table, const char *listing, int64_t left_ms,
		      int64_t now_ms, struct buffer *out)
{
	int64_t end = find_end(listing);

	if (has_rules(listing, "scoped_output") && end >= 0) {
		bool is_open = left_ms > 0 && end * 1000 > now_ms;
		char moment[MOMENT_SIZE];

		buffer_print(out, "table inet %s: %s window\n", table,
			     is_open ? "an open" : "an expired");
		buffer_print(out, "  its end: %s\n", moment_format(end, moment));
		put_left(out, "wall clock", end * 1000 - now_ms);
		put_left(out, "kernel's clock", left_ms);
	} else if (has_rules(listing, "output") && has_rules(listing, "marked_output")) {
		buffer_print(out, "table inet %s: the deny guard\n", table);
	} else {
		buffer_print(out, "table inet %s: neither window nor guard\n", table);
	}
}

/* A line of the listing: a chain's name, or a rule as its packets and its text,
 * without the window that is said above. */
static void put_line(struct buffer *out, const char *line, size_t size)
{
	static const char chain[] = "\tchain ", rule[] = "\t\t";
	const char *counter = memmem(line, size, counter_start, strlen(counter_start));
	const char *after, *end = line + size, *text = line + strlen(rule);
	size_t digits;

	if (size > strlen(chain) && memcmp(line, chain, strlen(chain)) == 0) {
		buffer_print(out, "  %.*s\n", (int)(size - 3), line + 1);
		return;
	}
	if (!counter || size < strlen(rule) || memcmp(line, rule, strlen(rule)) != 0)
		return;
	if (memcmp(text, window_start, strlen(window_start)) == 0) {
		after = memmem(text, (size_t)(end - text), window_between,
			       strlen(window_between));
		after = after ? memchr(after + strlen(window_between), '"',
				       (size_t)(end - after) - strlen(window_between))
			      : NULL;
		text = after && after + 2 < end ? after + 2 : text;
	}
	after = counter + strlen(counter_start);
	digits = strspn(after, "0123456789");
	buffer_print(out, "    %10.*s  ", (int)digits, after);
	buffer_add(out, text, (size_t)(counter - text));
	/* "bytes N " and what follows */
	after += digits + strlen(" bytes ");
	after += strspn(after, "0123456789");
	after += *after == ' ';
	if (after < end)
		buffer_add(out, after, (size_t)(end - after));
	buffer_add_byte(out, '\n');
}

void show_listing(const char *table, const char *listing, int64_t left_ms, int64_t now_ms,
		  struct buffer *out)
{
	put_state(table, listing, left_ms, now_ms, out);
	buffer_print(out, "     packets  rule\n");
	while (*listing) {
		size_t size = strcspn(listing, "\n");

		put_line(out, listing, size);
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
	if (!error)
		show_listing(table, listing.data, shortest_left(&form), now_ms, out);
	return error;
}
