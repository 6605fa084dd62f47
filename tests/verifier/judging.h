/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A case judged from bytes, for the tamper matrix: the store and the report are left
 * out, and nothing else. */
#ifndef TESTS_VERIFIER_JUDGING_H
#define TESTS_VERIFIER_JUDGING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/own.h"
#include "common/protected.h"
#include "verifier/judge.h"

static inline bool judging_is_refused(int error, const struct diag *diag)
{
	if (error && diag->kind != DIAG_REFUSED)
		abort(); /* a test that runs out of memory shows nothing */
	return error != 0;
}

static inline bool judging_read_post(struct case_files *files, const char *data,
				     size_t size)
{
	struct diag diag = {0};

	digest_bytes(data, size, files->post_sha256);
	return !judging_is_refused(
		preflight_parse(data, size, "post", &files->post, &diag), &diag);
}

static inline bool judging_read_record(struct verify_case *case_, const char *data,
				       size_t size)
{
	struct diag diag = {0};

	return !judging_is_refused(
		record_parse(data, size, "record", &case_->record, &diag), &diag);
}

static inline bool judging_read_pre(struct verify_case *case_, const char *data,
				    size_t size)
{
	struct diag diag = {0};

	return !judging_is_refused(preflight_parse(data, size, "pre", &case_->pre, &diag),
				   &diag);
}

/* The caller releases `*ret_verdict`. */
static inline void judging_judge(const struct verify_case *case_,
				 struct verdict *ret_verdict)
{
	struct diag diag = {0};

	if (judge_case(case_, ret_verdict, &diag) != 0)
		abort();
}

#endif
