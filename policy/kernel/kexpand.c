// SPDX-License-Identifier: GPL-2.0-or-later
// Lines of a form with what anonymous sets and chains hold.
#include "policy/kernel/kexpand.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>

#include "policy/kernel/kdiff.h"
#include "policy/kernel/ktext.h"

#define KEXPAND_DEPTH_MAX 16

/* No kernel has chains that go in circles, and nothing but it is asked; a dump that
 * has them is not expanded further than this. */
#define KEXPAND_EXTRA_MAX (64UL << 20)

/* nft's numbers of types (its datatype.h), for reports alone. */
enum {
	TYPE_IPV4_ADDRESS = 7,
	TYPE_SERVICE = 13,
	TYPE_MARK = 19,
	TYPE_UID = 24,
	TYPE_GID = 25,
	TYPE_CGROUP_V2 = 46,
};

static const char *text_of(const struct kform *form, size_t index)
{
	return form->text.data + form->lines[index].offset;
}

/* The number in "set __set12", "chain __chain0", ...; false if it has a name. */
static bool anonymous_number(const char *name, size_t *ret_number)
{
	static const char *const prefixes[] = {"__set", "__map", "__chain"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t length = strlen(prefixes[i]), number = 0;

		if (strncmp(name, prefixes[i], length) != 0)
			continue;
		for (name += length; *name >= '0' && *name <= '9'; name++)
			number = number * 10 + (size_t)(*name - '0');
		*ret_number = number;
		return true;
	}
	return false;
}

static const char *second_word(const char *line)
{
	return line + strcspn(line, " \n") + 1;
}

bool kexpand_is_anonymous(const struct kexpand *lines, size_t index)
{
	enum kform_kind kind = lines->form->lines[index].kind;
	size_t number;

	if (kind != KFORM_SET && kind != KFORM_CHAIN && kind != KFORM_RULE &&
	    kind != KFORM_ELEMENT)
		return false;
	return anonymous_number(second_word(text_of(lines->form, index)), &number);
}

static int find_anonymous(struct kexpand *lines)
{
	const struct kform *form = lines->form;

	lines->sets = calloc(form->line_count + 1, sizeof(*lines->sets));
	lines->chains = calloc(form->line_count + 1, sizeof(*lines->chains));
	if (!lines->sets || !lines->chains)
		return -ENOMEM;
	/* They stand in the order of their numbers. */
	for (size_t i = 0; i < form->line_count; i++) {
		if (!kexpand_is_anonymous(lines, i))
			continue;
		if (form->lines[i].kind == KFORM_SET)
			lines->sets[lines->set_count++] = i;
		else if (form->lines[i].kind == KFORM_CHAIN)
			lines->chains[lines->chain_count++] = i;
	}
	return 0;
}

static void put_expanded(struct kexpand *lines, const char *text, size_t size,
			 unsigned int depth);

/* What a set or chain holds: its own attributes and its parts, without its name. */
static void put_content(struct kexpand *lines, size_t index, unsigned int depth)
{
	const struct kform *form = lines->form;
	enum kform_kind part =
		form->lines[index].kind == KFORM_SET ? KFORM_ELEMENT : KFORM_RULE;

	buffer_add_byte(&lines->store, '{');
	for (size_t i = index; i < form->line_count; i++) {
		const char *line = text_of(form, i), *rest = second_word(line);

		if (i > index && form->lines[i].kind != part)
			break;
		rest += strcspn(rest, " \n");
		buffer_add(&lines->store, i > index ? "," : "", i > index);
		put_expanded(lines, rest, form->lines[i].size - (size_t)(rest - line),
			     depth + 1);
	}
	buffer_add(&lines->store, " }", 2);
}

/* The reference "=__set0" at `text`, or nothing. */
static const size_t *find_reference(const struct kexpand *lines, const char *text)
{
	size_t number;

	if (!anonymous_number(text + 1, &number))
		return NULL;
	if (strncmp(text + 1, "__chain", 7) == 0)
		return number < lines->chain_count ? &lines->chains[number] : NULL;
	return number < lines->set_count ? &lines->sets[number] : NULL;
}

static void put_expanded(struct kexpand *lines, const char *text, size_t size,
			 unsigned int depth)
{
	size_t done = 0;

	for (size_t at = 0; at < size; at++) {
		const size_t *target;

		if (text[at] == '"') {
			const char *close = memchr(text + at + 1, '"', size - at - 1);

			at = close ? (size_t)(close - text) : size - 1;
			continue;
		}
		if (text[at] != '=' || text[at + 1] != '_' ||
		    depth >= KEXPAND_DEPTH_MAX ||
		    lines->store.bytes.size > lines->form->text.size + KEXPAND_EXTRA_MAX)
			continue;
		target = find_reference(lines, text + at);
		if (!target)
			continue;
		buffer_add(&lines->store, text + done, at + 1 - done);
		put_content(lines, *target, depth);
		at += strcspn(text + at, " )\n") - 1;
		done = at + 1;
	}
	buffer_add(&lines->store, text + done, size - done);
}

int kexpand_form(const struct kform *form, struct kexpand *ret_lines)
{
	ret_lines->form = form;
	ret_lines->starts = calloc(form->line_count + 1, sizeof(*ret_lines->starts));
	if (!ret_lines->starts || find_anonymous(ret_lines) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < form->line_count; i++) {
		ret_lines->starts[i] = ret_lines->store.bytes.size;
		put_expanded(ret_lines, text_of(form, i), form->lines[i].size, 0);
	}
	ret_lines->starts[form->line_count] = ret_lines->store.bytes.size;
	return ret_lines->store.is_short ? -ENOMEM : 0;
}

void kexpand_release(struct kexpand *lines)
{
	own_buffer(&lines->store);
	free(lines->starts);
	free(lines->sets);
	free(lines->chains);
	*lines = (struct kexpand){0};
}

struct kexpand_text kexpand_line(const struct kexpand *lines, size_t index)
{
	return (struct kexpand_text){
		lines->store.bytes.data + lines->starts[index],
		lines->starts[index + 1] - lines->starts[index],
	};
}

size_t kexpand_place(const struct kform *form, size_t index)
{
	size_t place = 1;

	while (index > 0 && form->lines[index - 1].kind == KFORM_RULE) {
		index--;
		place++;
	}
	return place;
}

int kexpand_compare_names(const struct kexpand *a, size_t index_a,
			  const struct kexpand *b, size_t index_b)
{
	const char *name_a = second_word(text_of(a->form, index_a)),
		   *name_b = second_word(text_of(b->form, index_b));
	const char *type_a = name_a + strcspn(name_a, " \n"),
		   *type_b = name_b + strcspn(name_b, " \n");
	unsigned long number_a = 0, number_b = 0;
	size_t length = (size_t)(type_a - name_a);
	int order;

	/* " type=NUMBER" of an object; a flowtable has none. */
	if (strncmp(type_a, " type=", 6) == 0 && strncmp(type_b, " type=", 6) == 0) {
		number_a = strtoul(type_a + 6, NULL, 10);
		number_b = strtoul(type_b + 6, NULL, 10);
	}
	if (number_a != number_b)
		return number_a < number_b ? -1 : 1;
	if (length > (size_t)(type_b - name_b))
		length = (size_t)(type_b - name_b);
	order = strncmp(name_a, name_b, length);
	if (order)
		return order;
	return type_a - name_a < type_b - name_b ? -1 : type_a - name_a > type_b - name_b;
}

/* --- keys ---------------------------------------------------------------------- */

static uint32_t set_attribute(const struct kform *form, const char *set, const char *name)
{
	for (size_t i = 0; i < form->line_count; i++) {
		const char *found;

		if (form->lines[i].kind != KFORM_SET ||
		    strcmp(form->lines[i].owner, set) != 0)
			continue;
		found = strstr(text_of(form, i), name);
		if (!found || found >= text_of(form, i) + form->lines[i].size)
			return 0;
		return (uint32_t)strtoul(found + strlen(name), NULL, 0);
	}
	return 0;
}

static uint64_t read_number(const uint8_t *key, size_t size, bool is_network_order)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size && i < sizeof(value); i++)
		if (is_network_order || __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			value = value << 8 | key[i];
		else
			value |= (uint64_t)key[i] << 8 * i;
	return value;
}

void kdiff_put_key(struct buffer *text, const struct kform *form, const char *set,
		   const uint8_t *key, size_t size)
{
	uint32_t type = set_attribute(form, set, " key_type=");
	/* Sets of intervals hold numbers so that bytes sort as they do. */
	bool is_interval = set_attribute(form, set, " flags=") & NFT_SET_INTERVAL;
	char address[INET_ADDRSTRLEN];

	switch (type) {
	case TYPE_UID:
	case TYPE_GID:
	case TYPE_CGROUP_V2:
		buffer_print(text, "%" PRIu64, read_number(key, size, is_interval));
		return;
	case TYPE_MARK:
		buffer_print(text, "0x%08" PRIx64, read_number(key, size, is_interval));
		return;
	case TYPE_SERVICE:
		buffer_print(text, "%" PRIu64, read_number(key, size, true));
		return;
	case TYPE_IPV4_ADDRESS:
		if (size == 4 && inet_ntop(AF_INET, key, address, sizeof(address))) {
			buffer_print(text, "%s", address);
			return;
		}
		break;
	default:
		break;
	}
	ktext_put_hex(text, key, size);
}

void kexpand_put_element(struct buffer *text, const struct kform *form, size_t index)
{
	static const char mark[] = " key=";
	const char *line = text_of(form, index), *found = strstr(line, mark);
	uint8_t key[KFORM_KEY_MAX];
	size_t size = 0;

	if (!found || found >= line + form->lines[index].size) {
		buffer_add(text, line, form->lines[index].size);
		return;
	}
	for (found += strlen(mark); size < sizeof(key); size++, found += 2) {
		unsigned int byte;

		if (sscanf(found, "%2x", &byte) != 1 || found[0] == ' ' ||
		    found[0] == '\n')
			break;
		key[size] = (uint8_t)byte;
	}
	kdiff_put_key(text, form, form->lines[index].owner, key, size);
	if (set_attribute(form, form->lines[index].owner, " flags=") & NFT_SET_INTERVAL &&
	    strncmp(found, " flags=0x00000001", 17) == 0)
		buffer_print(text, " (the end of a range)");
}
