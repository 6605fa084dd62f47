// SPDX-License-Identifier: GPL-2.0-or-later
// Strict JSON: bytes to a checked value, and places inside it.
#include "common/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/own.h"

#define MAX_DIGITS 16 /* of 2^53 - 1: with more, jansson gives up at 2^63 */

/*
 * jansson 2.14 ignores that memory ended while it gathers a token, and goes on
 * with a shorter one (load.c, lex_save()). So its allocations are watched, and a
 * parse during which one failed has failed, whatever it gave.
 */
static bool is_memory_short;

static void *watched_malloc(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		is_memory_short = true;
	return memory;
}

void json_watch_memory(void)
{
	/* What was allocated before goes to the same free(). */
	json_set_alloc_funcs(watched_malloc, free);
	is_memory_short = false;
}

bool json_is_memory_short(void)
{
	return is_memory_short;
}

static bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}

/* The number that starts at `text`: NULL, or what is wrong with it. */
static const char *check_number(const char *text, const char *end)
{
	const char *at = text + (*text == '-'), *digits = at;

	if (*text == '-' && at < end && *at == '0')
		return "-0, or a number that starts with it";
	while (at < end && is_digit(*at))
		at++;
	if (at < end && (*at == '.' || *at == 'e' || *at == 'E'))
		return "a number that is not written as an integer";
	if (at - digits > MAX_DIGITS)
		return "an integer beyond 2^53 - 1";
	return NULL;
}

/* Looks for what jansson would accept: floats, -0, too much depth, and a NUL after a
 * number, which 2.14 loses when it puts it back. The text may still be anything;
 * whatever else is wrong with it, jansson says. Returns NULL, or what is wrong at
 * `*ret_where`. */
static const char *check_text(const char *text, const char *end, const char **ret_where)
{
	bool is_string = false, is_escaped = false;
	unsigned int depth = 0;
	const char *wrong = NULL;

	for (const char *at = text; at < end && !wrong; at++) {
		*ret_where = at;
		if (!*at) {
			wrong = "a NUL byte";
			continue;
		}
		if (is_string) {
			if (*at == '"' && !is_escaped)
				is_string = false;
			is_escaped = *at == '\\' && !is_escaped;
			continue;
		}
		if (*at == '"')
			is_string = true;
		else if ((*at == '{' || *at == '[') && ++depth > JSON_MAX_DEPTH)
			wrong = "nested deeper than 16";
		else if ((*at == '}' || *at == ']') && depth > 0)
			depth--;
		if (*at != '-' && !is_digit(*at))
			continue;
		wrong = check_number(at, end);
		while (at + 1 < end && is_digit(at[1]))
			at++;
	}
	return wrong;
}

/* Where `where` is in `text`, as jansson counts: lines and columns from 1; a
 * column is a character, not a byte. */
static void find_line(const char *text, const char *where, int *ret_line, int *ret_column)
{
	*ret_line = 1;
	*ret_column = 1;
	for (; text < where; text++) {
		if (*text == '\n') {
			++*ret_line;
			*ret_column = 1;
		} else if (((unsigned char)*text & 0xc0) != 0x80) {
			++*ret_column;
		}
	}
}

static int refuse_text(const char *text, const char *where, const char *wrong,
		       const char *name, struct diag *diag)
{
	int line, column;

	find_line(text, where, &line, &column);
	return diag_refuse(diag, name, "not strict JSON: line %d, column %d: %s", line,
			   column, wrong);
}

static int check_integers(const struct json_at *at, struct diag *diag)
{
	json_t *walked = (json_t *)at->value; /* iteration changes nothing */
	json_int_t integer;
	int error = 0;

	if (json_is_integer(walked)) {
		integer = json_integer_value(walked);
		if (integer > JSON_MAX_INTEGER || integer < -JSON_MAX_INTEGER)
			return json_refuse(at, diag, "an integer beyond 2^53 - 1");
	}
	for (size_t i = 0; i < json_array_size(walked) && !error; i++) {
		struct json_at item = {at, NULL, i, json_array_get(walked, i)};

		error = check_integers(&item, diag);
	}
	for (void *i = json_object_iter(walked); i && !error;
	     i = json_object_iter_next(walked, i)) {
		struct json_at member = {at, json_object_iter_key(i), 0,
					 json_object_iter_value(i)};

		error = check_integers(&member, diag);
	}
	return error;
}

int json_parse(const void *data, size_t size, size_t limit, const char *name,
	       json_t **ret_root, struct diag *diag)
{
	OWN(own_json) json_t *root = NULL;
	const char *text = data, *where = data, *wrong;
	json_error_t cause;
	int error;

	if (size > limit)
		return diag_refuse(diag, name, "larger than %zu bytes", limit);
	if (size == 0)
		return diag_refuse(diag, name, "not strict JSON: empty");
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		return diag_refuse(diag, name, "starts with a byte order mark");
	wrong = check_text(text, text + size, &where);
	if (wrong)
		return refuse_text(text, where, wrong, name, diag);
	json_watch_memory();
	root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &cause);
	if (is_memory_short)
		return diag_no_memory(diag);
	if (!root)
		return diag_refuse(diag, name, "not strict JSON: line %d, column %d: %s",
				   cause.line, cause.column, cause.text);
	if (!json_is_object(root))
		return diag_refuse(diag, name, "not an object");
	error = check_integers(&(struct json_at){NULL, name, 0, root}, diag);
	if (error)
		return error;
	*ret_root = TAKE_POINTER(root);
	return 0;
}

static size_t append(char *text, size_t used, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static size_t append(char *text, size_t used, size_t size, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
	if (length < 0)
		return used;
	return (size_t)length < size - used ? used + (size_t)length : size - 1;
}

static size_t place(const struct json_at *at, char *text, size_t size)
{
	size_t used;

	if (!at->parent)
		return append(text, 0, size, "%s", at->key);
	used = place(at->parent, text, size);
	if (!at->parent->parent)
		used = append(text, used, size, ": ");
	if (!at->key)
		return append(text, used, size, "[%zu]", at->index);
	return append(text, used, size, "%s%s", at->parent->parent ? "." : "", at->key);
}

char *json_place(const struct json_at *at, char *ret_place, size_t size)
{
	place(at, ret_place, size);
	return ret_place;
}

static size_t pointer(const struct json_at *at, char *text, size_t size)
{
	size_t used;

	if (!at->parent)
		return append(text, 0, size, "%s", "");
	used = pointer(at->parent, text, size);
	if (!at->key)
		return append(text, used, size, "/%zu", at->index);
	used = append(text, used, size, "/");
	/* RFC 6901, 3: '~' and '/' are written "~0" and "~1". */
	for (const char *letter = at->key; *letter; letter++) {
		if (*letter == '~' || *letter == '/')
			used = append(text, used, size, "~%c",
				      *letter == '~' ? '0' : '1');
		else
			used = append(text, used, size, "%c", *letter);
	}
	return used;
}

char *json_pointer(const struct json_at *at, char *ret_pointer, size_t size)
{
	pointer(at, ret_pointer, size);
	return ret_pointer;
}

void json_record_refusal(const struct json_at *at, struct diag *diag, const char *format,
			 ...)
{
	char where[DIAG_PLACE_SIZE], text[DIAG_TEXT_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	diag_record(diag, DIAG_REFUSED, 0, json_place(at, where, sizeof(where)), "%s",
		    text);
}
