// SPDX-License-Identifier: GPL-2.0-or-later
// Judges cases from standard input, a hundred thousand in a minute: for the tamper
// matrix.
//
// judge_many PROFILE SITE RELEASE. Each case is three frames, a line with a size and
// as many bytes: record, preflight before, preflight after. For each, one line: the
// judgement and the codes of what was found.
#include "tests/verifier/judging.h"

static char *read_frame(size_t *ret_size)
{
	char line[32];
	char *data;

	if (!fgets(line, sizeof(line), stdin))
		return NULL;
	*ret_size = strtoul(line, NULL, 10);
	data = malloc(*ret_size + 1);
	if (!data || fread(data, 1, *ret_size, stdin) != *ret_size)
		abort();
	return data;
}

/* As case_read_record() does, from frames. Returns the code of what is refused. */
static const char *read_case(struct verify_case *case_, struct case_files *files,
			     const char *record, size_t record_size, const char *pre,
			     size_t pre_size, const char *post, size_t post_size)
{
	char named[DIGEST_TEXT_SIZE];

	if (!judging_read_post(files, post, post_size))
		return "post-form";
	if (!judging_read_record(case_, record, record_size))
		return "record-form";
	digest_bytes(pre, pre_size, named);
	if (strcmp(named, case_->record.pre_collection_preflight_sha256) != 0)
		return "pre-object";
	return judging_read_pre(case_, pre, pre_size) ? NULL : "pre-form";
}

static void judge(const struct verify_case *case_)
{
	OWN(verdict_release) struct verdict verdict = {0};

	judging_judge(case_, &verdict);
	fputs(judgement_names[verdict.judgement], stdout);
	for (size_t i = 0; i < verdict.findings.count; i++)
		printf(" %s", finding_kinds[verdict.findings.items[i].code].name);
	putchar('\n');
}

static bool judge_next(struct verify_case *case_, struct case_files *files)
{
	size_t record_size = 0, pre_size = 0, post_size = 0;
	OWN(own_pointer) char *record = read_frame(&record_size);
	OWN(own_pointer) char *pre = record ? read_frame(&pre_size) : NULL;
	OWN(own_pointer) char *post = pre ? read_frame(&post_size) : NULL;
	const char *code;

	if (!post)
		return false;
	memset(case_, 0, sizeof(*case_));
	case_->files = files;
	code = read_case(case_, files, record, record_size, pre, pre_size, post,
			 post_size);
	if (code)
		printf("refused %s\n", code);
	else
		judge(case_);
	return true;
}

int main(int argc, char **argv)
{
	struct verify_case *case_ = calloc(1, sizeof(*case_));
	struct case_files *files = calloc(1, sizeof(*files));
	struct diag diag = {0};

	if (argc != 4 || !case_ || !files ||
	    profile_read(argv[1], geteuid(), &files->profile, &diag) != 0 ||
	    site_read(argv[2], geteuid(), &files->site, files->site_sha256, &diag) != 0 ||
	    release_read(argv[3], geteuid(), &files->release, files->release_sha256,
			 &diag) != 0) {
		fprintf(stderr, "judge_many: %s: %s\n", diag.place, diag.text);
		return 2;
	}
	while (judge_next(case_, files))
		;
	free(case_);
	free(files);
	return 0;
}
