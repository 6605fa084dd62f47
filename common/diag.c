// SPDX-License-Identifier: GPL-2.0-or-later
// Why a call failed: one cause, its place, and whether it is a verdict.
#include "common/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			*text = '?';
}

void diag_record(struct diag *diag, enum diag_kind kind, int error, const char *place,
		 const char *format, ...)
{
	va_list arguments;
	size_t used;

	if (diag->kind != DIAG_NONE)
		return;
	diag->kind = kind;
	snprintf(diag->place, sizeof(diag->place), "%s", place ? place : "");
	va_start(arguments, format);
	vsnprintf(diag->text, sizeof(diag->text), format, arguments);
	va_end(arguments);
	used = strlen(diag->text);
	if (error)
		snprintf(diag->text + used, sizeof(diag->text) - used, ": %s",
			 strerror(error));
	make_printable(diag->place);
	make_printable(diag->text);
}

void diag_prefix(struct diag *diag, const char *prefix)
{
	char place[DIAG_PLACE_SIZE];

	/* A place too long is cut at its end: its beginning names the file. */
	if (snprintf(place, sizeof(place), "%s%s%s", prefix, diag->place[0] ? ": " : "",
		     diag->place) < 0)
		return;
	make_printable(place);
	memcpy(diag->place, place, sizeof(place));
}

const char *diag_kind_name(enum diag_kind kind)
{
	switch (kind) {
	case DIAG_REFUSED:
		return "refused";
	case DIAG_USAGE:
		return "usage";
	case DIAG_UNDECIDED:
		return "could not tell";
	case DIAG_NONE:
		break;
	}
	return "";
}

char *diag_render(const struct diag *diag, char *ret_line, size_t size)
{
	snprintf(ret_line, size, "%s%s%s", diag->place, diag->place[0] ? ": " : "",
		 diag->text);
	return ret_line;
}

enum exit_status diag_exit_status(const struct diag *diag)
{
	switch (diag->kind) {
	case DIAG_REFUSED:
		return EXIT_STATUS_REFUSED;
	case DIAG_USAGE:
		return EXIT_STATUS_USAGE;
	case DIAG_UNDECIDED:
	case DIAG_NONE:
		break;
	}
	return EXIT_STATUS_UNDECIDED;
}
