// SPDX-License-Identifier: GPL-2.0-or-later
// What differs between two tables in kernel form, for a person.
#include "policy/kernel/kdiff.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>

#include "policy/kernel/kexpand.h"
#include "policy/kernel/kleaf.h"
#include "policy/kernel/ktext.h"

/* Cells of the table that finds a longest common sequence; past that, rules are
 * paired by their place. */
#define KDIFF_CELLS_MAX (4UL * 1024 * 1024)

struct side {
	const struct kform *form;
	const char *listing;
	struct kexpand lines;
};

struct differ {
	struct side wanted, live;
	struct buffer *report;
	size_t found;
	struct kleaf *leaves; /* 2 * KLEAF_MAX of them */
};

/* The lines from `first` to before `end` of one side. */
struct span {
	size_t first, end;
};

static bool start_difference(struct differ *differ)
{
	return differ->found++ < KDIFF_SHOWN_MAX;
}

/* --- showing ------------------------------------------------------------------- */

static bool is_printable(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

/* The only line of "nft -a" that is a rule's and ends with `end`, without indentation
 * and handle. Others put comments into the kernel: a line that is there twice, or has
 * what no terminal should see, is none. */
static bool find_rule(const char *listing, const char *end, struct kexpand_text *ret_rule)
{
	static const char indentation[] = "\n\t\t";
	size_t count = 0;

	for (const char *at = strstr(listing, end); at; at = strstr(at + 1, end)) {
		const char *start = at;

		while (start > listing && start[-1] != '\n')
			start--;
		/* Not a table's, a chain's or a set's own. */
		if (start == listing ||
		    strncmp(start - 1, indentation, strlen(indentation)) != 0)
			continue;
		start += strspn(start, "\t");
		*ret_rule = (struct kexpand_text){start, (size_t)(at - start)};
		count++;
	}
	return count == 1 && is_printable(ret_rule->data, ret_rule->size);
}

static bool put_nft_rule(struct buffer *text, const struct side *side,
			 const struct kform_line *line)
{
	char end[40];
	struct kexpand_text rule;

	if (!side->listing || !line->handle)
		return false;
	snprintf(end, sizeof(end), " # handle %" PRIu64 "\n", line->handle);
	if (!find_rule(side->listing, end, &rule))
		return false;
	buffer_add(text, rule.data, rule.size);
	return true;
}

/* "type filter hook output priority -150; policy accept;" of a chain. */
static bool put_nft_chain(struct buffer *text, const struct side *side,
			  const struct kform_line *line)
{
	char wanted[NFT_CHAIN_MAXNAMELEN + 32];
	const char *found;

	if (!side->listing)
		return false;
	snprintf(wanted, sizeof(wanted), "\tchain %s { # handle ", line->owner);
	found = strstr(side->listing, wanted);
	found = found ? strchr(found, '\n') : NULL;
	if (!found || strncmp(found, "\n\t\ttype ", 8) != 0)
		return false;
	found += 3;
	if (!is_printable(found, strcspn(found, "\n")))
		return false;
	buffer_add(text, found, strcspn(found, "\n"));
	return true;
}

static void put_line(struct buffer *text, const struct side *side, size_t index)
{
	const struct kform_line *line = &side->form->lines[index];
	struct kexpand_text content = kexpand_line(&side->lines, index);

	if (line->kind == KFORM_RULE && put_nft_rule(text, side, line))
		return;
	if (line->kind == KFORM_CHAIN && put_nft_chain(text, side, line))
		return;
	buffer_add(text, content.data, content.size);
}

static void put_name(struct differ *differ, const struct side *side, size_t index)
{
	const struct kform_line *line = &side->form->lines[index];
	struct kexpand_text content = kexpand_line(&side->lines, index);
	const char *space = content.size ? memchr(content.data, ' ', content.size) : NULL;
	size_t word = space ? (size_t)(space - content.data) : content.size, name;

	switch (line->kind) {
	case KFORM_TABLE:
		buffer_print(differ->report, "the table");
		return;
	case KFORM_ELEMENT:
		buffer_print(differ->report, "set %s: element ", line->owner);
		kexpand_put_element(differ->report, side->form, index);
		return;
	case KFORM_RULE:
		buffer_print(differ->report, "chain %s: rule %zu", line->owner,
			     kexpand_place(side->form, index));
		return;
	default:
		/* "set NAME", as the form writes it */
		name = space && content.size > word + 1 ? strcspn(space + 1, " \n") : 0;
		if (word + 1 + name > content.size)
			name = content.size - word - 1;
		buffer_add(differ->report, content.data, word + 1 + name);
	}
}

static void report_missing(struct differ *differ, size_t index)
{
	if (!start_difference(differ))
		return;
	put_name(differ, &differ->wanted, index);
	buffer_print(differ->report, " is missing\n\tmust be: ");
	put_line(differ->report, &differ->wanted, index);
	buffer_add_byte(differ->report, '\n');
}

static void report_extra(struct differ *differ, size_t index)
{
	if (!start_difference(differ))
		return;
	put_name(differ, &differ->live, index);
	buffer_print(differ->report, " is not of the policy\n\tis:      ");
	put_line(differ->report, &differ->live, index);
	buffer_add_byte(differ->report, '\n');
}

static void report_changed(struct differ *differ, size_t wanted, size_t live)
{
	struct kexpand_text left = kexpand_line(&differ->wanted.lines, wanted),
			    right = kexpand_line(&differ->live.lines, live);
	size_t left_count, right_count;

	if (!start_difference(differ))
		return;
	left_count = kleaf_split(left.data, left.size, differ->leaves);
	right_count = kleaf_split(right.data, right.size, differ->leaves + KLEAF_MAX);
	put_name(differ, &differ->live, live);
	buffer_print(differ->report, " differs\n\tmust be: ");
	put_line(differ->report, &differ->wanted, wanted);
	buffer_print(differ->report, "\n\tis:      ");
	put_line(differ->report, &differ->live, live);
	buffer_add_byte(differ->report, '\n');
	kleaf_put_differences(differ->report, differ->leaves, left_count,
			      differ->leaves + KLEAF_MAX, right_count);
}

static void report_moved(struct differ *differ, size_t wanted, size_t live)
{
	if (!start_difference(differ))
		return;
	put_name(differ, &differ->live, live);
	buffer_print(differ->report,
		     " is in the wrong place: it must be rule %zu\n\tis: ",
		     kexpand_place(differ->wanted.form, wanted));
	buffer_print(differ->report, "     ");
	put_line(differ->report, &differ->live, live);
	buffer_add_byte(differ->report, '\n');
}

/* --- pairing ------------------------------------------------------------------- */

static int compare_content(const struct differ *differ, size_t wanted, size_t live)
{
	struct kexpand_text a = kexpand_line(&differ->wanted.lines, wanted),
			    b = kexpand_line(&differ->live.lines, live);
	size_t shorter = a.size < b.size ? a.size : b.size;
	int order = memcmp(a.data, b.data, shorter);

	if (order)
		return order;
	return a.size < b.size ? -1 : a.size > b.size;
}

static bool is_same(const struct differ *differ, size_t wanted, size_t live)
{
	return compare_content(differ, wanted, live) == 0;
}

/* Elements are sorted. One that differs in what belongs to a key (a flag, data)
 * has another line but the same beginning; both are shown. */
static void compare_elements(struct differ *differ, struct span wanted, struct span live)
{
	while (wanted.first < wanted.end || live.first < live.end) {
		int order = wanted.first == wanted.end ? 1
			    : live.first == live.end
				    ? -1
				    : compare_content(differ, wanted.first, live.first);

		if (order < 0) {
			report_missing(differ, wanted.first++);
		} else if (order > 0) {
			report_extra(differ, live.first++);
		} else {
			wanted.first++;
			live.first++;
		}
	}
}

/* What became of a rule: it is at `other` on the other side, or nowhere. */
#define NOWHERE SIZE_MAX

/* Fills, for both spans, where each rule of a longest common sequence is on the other
 * side. Returns 0 or -ENOMEM. */
static int match_rules(const struct differ *differ, struct span wanted, struct span live,
		       size_t *to_live, size_t *to_wanted)
{
	size_t rows = wanted.end - wanted.first, columns = live.end - live.first;
	OWN(own_pointer) uint32_t *length = NULL;

	if (!rows || !columns || rows > KDIFF_CELLS_MAX / columns)
		return 0;
	length = calloc((rows + 1) * (columns + 1), sizeof(*length));
	if (!length)
		return -ENOMEM;
#define AT(row, column) length[(row) * (columns + 1) + (column)]
	for (size_t r = rows; r-- > 0;)
		for (size_t c = columns; c-- > 0;)
			if (is_same(differ, wanted.first + r, live.first + c))
				AT(r, c) = AT(r + 1, c + 1) + 1;
			else
				AT(r, c) = AT(r + 1, c) > AT(r, c + 1) ? AT(r + 1, c)
								       : AT(r, c + 1);
	for (size_t r = 0, c = 0; r < rows && c < columns;) {
		if (is_same(differ, wanted.first + r, live.first + c)) {
			to_live[r] = c;
			to_wanted[c++] = r++;
		} else if (AT(r + 1, c) >= AT(r, c + 1)) {
			r++;
		} else {
			c++;
		}
	}
#undef AT
	return 0;
}

/* A rule that is somewhere else is moved, not missing here and extra there. */
static void report_moves(struct differ *differ, struct span wanted, struct span live,
			 size_t *to_live, size_t *to_wanted)
{
	for (size_t r = 0; r < wanted.end - wanted.first; r++)
		for (size_t c = 0; to_live[r] == NOWHERE && c < live.end - live.first &&
				   differ->found < KDIFF_SHOWN_MAX;
		     c++)
			if (to_wanted[c] == NOWHERE &&
			    is_same(differ, wanted.first + r, live.first + c)) {
				to_live[r] = c;
				to_wanted[c] = r;
				report_moved(differ, wanted.first + r, live.first + c);
			}
}

/* Reports what is left: between two rules that match, rules without a match are
 * paired with each other, in order. */
static void report_rest(struct differ *differ, struct span wanted, struct span live,
			const size_t *to_live, const size_t *to_wanted)
{
	size_t rows = wanted.end - wanted.first, columns = live.end - live.first;

	for (size_t r = 0, c = 0; r < rows || c < columns;) {
		bool is_loose_r = r < rows && to_live[r] == NOWHERE,
		     is_loose_c = c < columns && to_wanted[c] == NOWHERE;

		if (is_loose_r && is_loose_c)
			report_changed(differ, wanted.first + r++, live.first + c++);
		else if (is_loose_r && (c == columns || !is_loose_c))
			report_missing(differ, wanted.first + r++);
		else if (is_loose_c)
			report_extra(differ, live.first + c++);
		else {
			r += r < rows;
			c += c < columns;
		}
	}
}

static int compare_rules(struct differ *differ, struct span wanted, struct span live)
{
	OWN(own_pointer) size_t *to_live = NULL;
	OWN(own_pointer) size_t *to_wanted = NULL;
	size_t rows, columns;
	int error;

	while (wanted.first < wanted.end && live.first < live.end &&
	       is_same(differ, wanted.first, live.first)) {
		wanted.first++;
		live.first++;
	}
	while (wanted.first < wanted.end && live.first < live.end &&
	       is_same(differ, wanted.end - 1, live.end - 1)) {
		wanted.end--;
		live.end--;
	}
	rows = wanted.end - wanted.first;
	columns = live.end - live.first;
	if (!rows && !columns)
		return 0;
	to_live = malloc((rows + 1) * sizeof(*to_live));
	to_wanted = malloc((columns + 1) * sizeof(*to_wanted));
	if (!to_live || !to_wanted)
		return -ENOMEM;
	memset(to_live, 0xff, (rows + 1) * sizeof(*to_live));
	memset(to_wanted, 0xff, (columns + 1) * sizeof(*to_wanted));
	error = match_rules(differ, wanted, live, to_live, to_wanted);
	if (error)
		return error;
	report_moves(differ, wanted, live, to_live, to_wanted);
	report_rest(differ, wanted, live, to_live, to_wanted);
	return 0;
}

/* --- objects ------------------------------------------------------------------- */

/* The elements or rules after the line of their set or chain. */
static struct span parts_after(const struct kform *form, size_t index)
{
	struct span span = {index + 1, index + 1};

	while (span.end < form->line_count &&
	       (form->lines[span.end].kind == KFORM_ELEMENT ||
		form->lines[span.end].kind == KFORM_RULE))
		span.end++;
	return span;
}

/* The next line from `index` that has a name and stands for itself. */
static size_t next_object(const struct side *side, size_t index)
{
	const struct kform *form = side->form;

	while (index < form->line_count && (form->lines[index].kind == KFORM_ELEMENT ||
					    form->lines[index].kind == KFORM_RULE ||
					    kexpand_is_anonymous(&side->lines, index)))
		index++;
	return index;
}

/* Objects of a form are sorted by kind; objects and flowtables by type and name in
 * the line, sets and chains by the kernel's name. */
static int compare_objects(const struct differ *differ, size_t wanted, size_t live)
{
	const struct kform_line *a = &differ->wanted.form->lines[wanted],
				*b = &differ->live.form->lines[live];

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == KFORM_TABLE)
		return 0;
	if (a->owner && b->owner)
		return strcmp(a->owner, b->owner);
	return kexpand_compare_names(&differ->wanted.lines, wanted, &differ->live.lines,
				     live);
}

static int compare_pair(struct differ *differ, size_t wanted, size_t live)
{
	struct span left = parts_after(differ->wanted.form, wanted),
		    right = parts_after(differ->live.form, live);

	if (!is_same(differ, wanted, live))
		report_changed(differ, wanted, live);
	if (differ->live.form->lines[live].kind == KFORM_CHAIN)
		return compare_rules(differ, left, right);
	compare_elements(differ, left, right);
	return 0;
}

/* Whether what `line` says is there, and left out because it is empty. */
static bool is_left_out(const struct kform *form, const struct kform_line *line)
{
	for (size_t i = 0; line->owner && i < form->inert_count; i++)
		if (form->inert[i].kind == line->kind &&
		    strcmp(form->inert[i].name, line->owner) == 0)
			return true;
	return false;
}

/* Of a set or chain that is there and empty, what is missing is all that is in it. */
static void report_absent(struct differ *differ, size_t wanted)
{
	const struct kform *form = differ->wanted.form;
	struct span parts = parts_after(form, wanted);

	if (parts.first == parts.end ||
	    !is_left_out(differ->live.form, &form->lines[wanted])) {
		report_missing(differ, wanted);
		return;
	}
	while (parts.first < parts.end)
		report_missing(differ, parts.first++);
}

static int compare_all(struct differ *differ)
{
	const struct side *wanted = &differ->wanted, *live = &differ->live;
	size_t w = next_object(wanted, 0), l = next_object(live, 0);
	int error = 0;

	while (!error && (w < wanted->form->line_count || l < live->form->line_count)) {
		int order = w == wanted->form->line_count ? 1
			    : l == live->form->line_count ? -1
							  : compare_objects(differ, w, l);

		if (order < 0) {
			report_absent(differ, w);
		} else if (order > 0) {
			report_extra(differ, l);
		} else {
			error = compare_pair(differ, w, l);
		}
		if (order <= 0)
			w = next_object(wanted, w + 1);
		if (order >= 0)
			l = next_object(live, l + 1);
	}
	return error;
}

static void release_differ(struct differ *differ)
{
	kexpand_release(&differ->wanted.lines);
	kexpand_release(&differ->live.lines);
	free(differ->leaves);
}

static int compare_forms(struct differ *differ)
{
	int error = kexpand_form(differ->wanted.form, &differ->wanted.lines);

	if (!error)
		error = kexpand_form(differ->live.form, &differ->live.lines);
	differ->leaves = calloc(2 * KLEAF_MAX, sizeof(*differ->leaves));
	if (!error && !differ->leaves)
		error = -ENOMEM;
	if (!error)
		error = compare_all(differ);
	if (error)
		return error;
	/* Nothing that has a name differs, and still the texts do: what is left is
	 * an anonymous thing that nothing refers to, or how they are numbered. */
	if (!differ->found && start_difference(differ))
		buffer_print(differ->report,
			     "anonymous sets or chains differ, or who refers to them\n");
	return 0;
}

int kdiff_report(const struct kdiff_side *wanted, const struct kdiff_side *live,
		 struct buffer *report, size_t *count, struct diag *diag)
{
	OWN(release_differ)
	struct differ differ = {
		.wanted = {.form = wanted->form, .listing = wanted->listing},
		.live = {.form = live->form, .listing = live->listing},
		.report = report};
	const struct bytes *a = &wanted->form->text, *b = &live->form->text;

	if (a->size == b->size && memcmp(a->data, b->data, a->size) == 0)
		return 0;
	if (compare_forms(&differ) != 0)
		return diag_no_memory(diag);
	if (differ.found > KDIFF_SHOWN_MAX)
		buffer_print(report, "and %zu differences more\n",
			     differ.found - KDIFF_SHOWN_MAX);
	*count += differ.found;
	return 0;
}
