// SPDX-License-Identifier: GPL-2.0-or-later
// The probe agent, confined and measured as ever, that lies in one of its answers.
//
// What it says is appended to the program's own file: " LIE PATTERN OP KIND\n", the
// last argument it is called with and its uid ("net-agent@0"), whose answer, and how. So
// each lie is a program with a digest of its own, which a release can name as its probe
// runner.
#include <fnmatch.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json_table.h"
#include "common/own.h"

enum { TAIL_SIZE = 256, WORD_SIZE = 64 };

#define SCAN_WORD "%63s"

static char op[WORD_SIZE], kind[WORD_SIZE];
static bool has_lied;

/* The linker puts the second in the place of the first. */
int __real_json_table_write(const struct json_table *table, const void *object,
			    struct bytes *ret_bytes, struct diag *diag);
int __wrap_json_table_write(const struct json_table *table, const void *object,
			    struct bytes *ret_bytes, struct diag *diag);

/* Before main(), and so before the confinement. */
__attribute__((constructor)) static void read_lie(int argc, char **argv)
{
	char tail[TAIL_SIZE + 1] = "", pattern[WORD_SIZE], called[TAIL_SIZE], *start;
	FILE *self = fopen("/proc/self/exe", "re");

	if (!self)
		abort();
	if (fseek(self, -TAIL_SIZE, SEEK_END) != 0 ||
	    fread(tail, 1, TAIL_SIZE, self) != TAIL_SIZE)
		abort();
	fclose(self);
	start = memmem(tail, TAIL_SIZE, " LIE ", 5);
	if (!start || sscanf(start, " LIE " SCAN_WORD " " SCAN_WORD " " SCAN_WORD,
			     pattern, op, kind) != 3)
		abort();
	snprintf(called, sizeof(called), "%s@%u", argv[argc - 1], getuid());
	if (fnmatch(pattern, called, 0) != 0)
		*op = '\0';
}

/* Another digit or letter at the end of the value behind `key`. */
static void alter(struct bytes *bytes, const char *key)
{
	char *at = strstr(bytes->data, key);

	if (!at)
		abort();
	at += strlen(key);
	at += strcspn(at, ",}") - 1;
	at -= *at == '"';
	*at = *at == '1' ? '2' : '1';
}

static void replace(struct bytes *bytes, const char *old, const char *new)
{
	const char *at = strstr(bytes->data, old);
	char *text;
	int size;

	if (!at)
		abort();
	size = asprintf(&text, "%.*s%s%s", (int)(at - bytes->data), bytes->data, new,
			at + strlen(old));
	if (size < 0)
		abort();
	own_bytes(bytes);
	*bytes = (struct bytes){text, (size_t)size};
}

/* The value, whatever it is. */
static void set_outcome(struct bytes *bytes)
{
	char old[WORD_SIZE];
	const char *at = strstr(bytes->data, "\"outcome\":\"");

	if (!at || sscanf(at, SCAN_WORD, old) != 1)
		abort();
	old[strcspn(old, ",}")] = '\0';
	replace(bytes, old, "\"outcome\":\"accepted\"");
}

static void flood(void)
{
	static char much[4096];
	struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};

	memset(much, 'x', sizeof(much));
	while (poll(&output, 1, -1) == 1)
		if (write(STDOUT_FILENO, much, sizeof(much)) < 0)
			_exit(0);
}

static void lie(struct bytes *bytes)
{
	if (strcmp(kind, "hang") == 0)
		poll(NULL, 0, -1);
	else if (strcmp(kind, "die") == 0)
		_exit(0);
	else if (strcmp(kind, "flood") == 0)
		flood();
	else if (strcmp(kind, "garbage") == 0)
		replace(bytes, "\"op\"", "\"op\":");
	else if (strcmp(kind, "order") == 0)
		replace(bytes, op, strcmp(op, "dns") == 0 ? "exit" : "dns");
	else if (strcmp(kind, "twice") == 0)
		replace(bytes, "}", "}\n{}");
	else if (strcmp(kind, "outcome") == 0)
		set_outcome(bytes);
	else if (strcmp(kind, "unconfined") == 0)
		replace(bytes, "\"seccomp\":true", "\"seccomp\":false");
	else
		alter(bytes, kind);
}

int __wrap_json_table_write(const struct json_table *table, const void *object,
			    struct bytes *ret_bytes, struct diag *diag)
{
	char wanted[WORD_SIZE + 16];
	int error = __real_json_table_write(table, object, ret_bytes, diag);

	/* The report has no operation of its own: its schema will do. */
	snprintf(wanted, sizeof(wanted),
		 strcmp(op, "report") == 0 ? "netproof.%s.v1" : "\"op\":\"%s\"", op);
	if (!error && *op && !has_lied && strstr(ret_bytes->data, wanted)) {
		has_lied = true;
		lie(ret_bytes);
	}
	return error;
}
