// SPDX-License-Identifier: GPL-2.0-or-later
// Subordinate uid ranges, as newuidmap reads them.
#include "policy/kernel/subuid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/number.h"
#include "common/own.h"
#include "common/protected.h"

#define FILE_LIMIT (4 << 20)
#define LINE_FIELDS 3

/* Cuts the next line off `*rest`; NULL at the end. */
static char *next_line(char **rest)
{
	char *line = *rest;

	if (!*line)
		return NULL;
	*rest += strcspn(*rest, "\n");
	if (**rest)
		*(*rest)++ = '\0';
	return line;
}

static int read_file(const char *path, struct bytes *ret_bytes, struct diag *diag)
{
	struct stat status;
	int error;

	if (lstat(path, &status) != 0 && errno == ENOENT)
		return 0;
	error = protected_read(path, 0, PROTECTED_FILE, FILE_LIMIT, ret_bytes, diag);
	if (!error && memchr(ret_bytes->data, '\0', ret_bytes->size))
		return diag_refuse(diag, path, "has a NUL byte");
	return error;
}

/* "user:100000:65536" */
static int add_line(const char *place, char *fields, struct subjects *subjects,
		    struct diag *diag)
{
	char *separator = strchr(fields, ':');
	uint64_t first, count;
	int error;

	if (!separator || strchr(separator + 1, ':'))
		return diag_refuse(diag, place, "not NAME:FIRST:COUNT");
	*separator = '\0';
	/* newuidmap also takes octal and hexadecimal numbers: not read two ways here. */
	if (number_parse(fields, 1, UINT32_MAX - 1, &first) != 0 ||
	    number_parse(separator + 1, 0, UINT32_MAX, &count) != 0)
		return diag_refuse(diag, place,
				   "not plain decimal numbers of ordinary uids");
	if (count == 0)
		return 0;
	if (first + count - 1 > UINT32_MAX - 1)
		return diag_refuse(diag, place, "runs past the last uid");
	error = subjects_add(subjects, (uint32_t)first, (uint32_t)(first + count - 1),
			     diag);
	if (error)
		diag_prefix(diag, place);
	return error;
}

static bool is_owner(const char *line, const char *owner, char **ret_fields)
{
	size_t length = strlen(owner);

	if (strncmp(line, owner, length) != 0 || line[length] != ':')
		return false;
	*ret_fields = (char *)line + length + 1;
	return true;
}

int subuid_read(const char *path, const char *user, uint32_t uid,
		struct subjects *ret_subjects, struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct subjects subjects = {0};
	char number[16], place[DIAG_PLACE_SIZE], *rest, *line, *fields;
	unsigned int count = 0;
	int error = subjects_add(&subjects, uid, uid, diag), first_error;

	if (error)
		return error;
	*ret_subjects = subjects;
	first_error = read_file(path, &bytes, diag);
	if (first_error || !bytes.data)
		return first_error;
	snprintf(number, sizeof(number), "%u", uid);
	rest = bytes.data;
	while ((line = next_line(&rest))) {
		count++;
		if (!is_owner(line, user, &fields) && !is_owner(line, number, &fields))
			continue;
		snprintf(place, sizeof(place), "%s: line %u", path, count);
		/* The rest is read all the same: the guard needs every certain range. */
		error = add_line(place, fields, &subjects, diag);
		if (error && !first_error)
			first_error = error;
	}
	*ret_subjects = subjects;
	return first_error;
}

int subuid_check_switch(const char *path, struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	static const char key[] = "subid";
	int error = read_file(path, &bytes, diag);
	char *rest = bytes.data, *line;

	if (error || !bytes.data)
		return error;
	while ((line = next_line(&rest))) {
		char *value;

		line[strcspn(line, "#")] = '\0';
		line += strspn(line, " \t");
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		value = line + strlen(key);
		value += strspn(value, " \t");
		if (*value != ':')
			continue;
		value += 1 + strspn(value + 1, " \t");
		if (strncmp(value, "files", 5) != 0 ||
		    value[5 + strspn(value + 5, " \t")])
			return diag_refuse(
				diag, path,
				"\"subid: %s\": subordinate uids that are not in "
				"/etc/subuid cannot be guarded",
				value);
	}
	return 0;
}
