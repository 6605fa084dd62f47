/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A judgement in the formats that people and other programs read. */
#ifndef VERIFIER_REPORT_H
#define VERIFIER_REPORT_H

#include "common/buffer.h"
#include "verifier/judge.h"

/*
 * Theory of operation
 *
 * Whatever the format, a report is begun with the number of records that were
 * asked for, gets exactly one entry for each, and is ended. Nothing in it depends
 * on the clock or the machine. No format can express a pass that is not one: each
 * entry is verified, or it carries its reasons, and an entry that could not be
 * judged is an error.
 */

/* One record's entry: a verdict, or why there is none. */
struct report_entry {
	const char *record_sha256;
	const struct verify_case *case_; /* NULL if there is no verdict */
	const struct verdict *verdict;   /* NULL: `undecided` says why */
	const struct diag *undecided;
};

struct report_format {
	const char *name;
	/* Any may be NULL. `index` counts entries from 0. */
	void (*begin)(struct buffer *out, size_t count);
	void (*add)(struct buffer *out, const struct report_entry *entry, size_t index);
	void (*end)(struct buffer *out);
};

/* The formats, NULL at the end; the first is the default. */
extern const struct report_format *const report_formats[];

/* The format of that name; NULL if there is none. */
const struct report_format *report_find(const char *name);

/* The names, as "human|json|...", for a help text. */
#define REPORT_FORMAT_NAMES "human|json|tap|junit|sarif|html"

/* What a verdict means for who reads it, in one sentence. */
const char *report_meaning(enum judgement judgement);

/* What a probe came to, in one word: "ok", "LEAK" (it got where it must not),
 * "unmatched" or "inconclusive". */
const char *report_probe_word(const struct record_probe *probe);

#endif
