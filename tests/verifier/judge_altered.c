// SPDX-License-Identifier: GPL-2.0-or-later
// Alters one document of a case in every byte and judges each time: every bit flipped,
// every truncation, every byte value put in everywhere.
//
// judge_altered PROFILE SITE RELEASE RECORD PRE POST WORD FROM TO BITS BYTES. WORD names
// the document to alter, from byte FROM up to TO; of the bits and truncations each
// BITSth is tried, of the bytes put in each BYTESth. Whatever of the documents' digests
// a forger could make anew is made anew. Standard input has a line for each stretch of
// the document: "FROM TO free|bound CODE..."; what no line covers may be refused for the
// codes of the first, "0 0 bound CODE...". Prints the cases that were not refused
// for such a code, and counts.
#include "tests/verifier/judging.h"

#include <malloc.h>

enum word { WORD_PROFILE, WORD_SITE, WORD_RELEASE, WORD_RECORD, WORD_PRE, WORD_POST };

static const char *const words[] = {"profile", "site", "release",
				    "record",  "pre",  "post"};

#define SHOWN_MAX 15
#define JSON_ROOM ((size_t)16 << 20) /* a tree of 128 KB of text takes 3 MB */

struct codes {
	bool has[FINDING_CODE_COUNT];
};

/* What one byte's change must be refused for. */
struct stretch {
	bool is_free;
	struct codes codes;
};

struct run {
	struct bytes documents[ARRAY_SIZE(words)];
	int word;
	struct stretch *owners; /* of each byte of the altered document */
	struct stretch structure;
	struct case_files *files;
	struct verify_case *case_;
	char *record; /* the record, with digests made anew */
	size_t daemon_start, daemon_end;
	enum judgement base;
	struct codes base_codes;
	size_t from, to, every_bit, every_byte; /* what is altered, how often */
	unsigned long judged, unseen, wrong;
};

static const char *const form_codes[] = {"profile-file", "site-file", "release-file",
					 "record-form",  "pre-form",  "post-form"};

/* What jansson allocates lies in one stretch, begun anew when all of it was given back:
 * the tree of a refused document takes a third less time so. */
static struct {
	char *room;
	size_t used, live;
} json_memory;

static void *take_json_memory(size_t size)
{
	char *taken = json_memory.room + json_memory.used;

	size = (size + 15) & ~(size_t)15;
	if (size > JSON_ROOM - json_memory.used)
		abort();
	json_memory.used += size;
	json_memory.live++;
	return taken;
}

static void give_json_memory(void *memory)
{
	if (memory && --json_memory.live == 0)
		json_memory.used = 0;
}

static size_t find_code(const char *name)
{
	for (size_t i = 0; i < FINDING_CODE_COUNT; i++)
		if (strcmp(finding_kinds[i].name, name) == 0)
			return i;
	fprintf(stderr, "judge_altered: no code %s\n", name);
	exit(2);
}

/* Writes `digest` wherever the document has it under `key`. */
static void put_digest(char *data, size_t size, const char *key, const char *digest)
{
	char *end = data + size, *at = data;
	size_t length = strlen(key);

	while ((at = memmem(at, (size_t)(end - at), key, length))) {
		at += length;
		if ((size_t)(end - at) >= DIGEST_TEXT_SIZE - 1)
			memcpy(at, digest, DIGEST_TEXT_SIZE - 1);
	}
}

/* A changed preflight: its own digest of the engine, and in the record both that one and
 * its name. */
static void bind_preflight(struct run *run, char *data, size_t size, size_t at)
{
	size_t end = run->daemon_end + size - run->documents[run->word].size;
	char digest[DIGEST_TEXT_SIZE];

	memcpy(run->record, run->documents[WORD_RECORD].data,
	       run->documents[WORD_RECORD].size);
	if (at >= run->daemon_start && at < run->daemon_end && end <= size) {
		digest_bytes(data + run->daemon_start, end - run->daemon_start, digest);
		put_digest(data, size, "\"daemon_sha256\":\"", digest);
		if (run->word == WORD_PRE)
			put_digest(run->record, run->documents[WORD_RECORD].size,
				   "\"daemon_sha256\":\"", digest);
	}
	if (run->word != WORD_PRE)
		return;
	digest_bytes(data, size, digest);
	put_digest(run->record, run->documents[WORD_RECORD].size,
		   "\"pre_collection_preflight_sha256\":\"", digest);
}

/* Reads the altered document into the case. Returns whether it has its form. */
static bool read_altered(struct run *run, const char *data, size_t size)
{
	struct case_files *files = run->files;
	struct diag diag = {0};
	int error = 0;

	switch (run->word) {
	case WORD_PROFILE:
		error = profile_parse(data, size, "profile", &files->profile, &diag);
		break;
	case WORD_SITE:
		error = site_parse(data, size, "site", &files->site, &diag);
		digest_bytes(data, size, files->site_sha256);
		break;
	case WORD_RELEASE:
		error = release_parse(data, size, "release", &files->release, &diag);
		digest_bytes(data, size, files->release_sha256);
		break;
	case WORD_RECORD:
		return judging_read_record(run->case_, data, size);
	case WORD_PRE:
		if (!judging_read_record(run->case_, run->record,
					 run->documents[WORD_RECORD].size))
			abort();
		return judging_read_pre(run->case_, data, size);
	default:
		return judging_read_post(files, data, size);
	}
	return !judging_is_refused(error, &diag);
}

/* The judgement of the altered document, and the codes of all that was found. */
static enum judgement judge_altered(struct run *run, const char *data, size_t size,
				    struct codes *ret_codes)
{
	OWN(verdict_release) struct verdict verdict = {0};
	char named[DIGEST_TEXT_SIZE];

	*ret_codes = (struct codes){0};
	if (!read_altered(run, data, size)) {
		ret_codes->has[find_code(form_codes[run->word])] = true;
		return JUDGEMENT_REFUSED;
	}
	if (run->word == WORD_RECORD) {
		digest_bytes(run->documents[WORD_PRE].data, run->documents[WORD_PRE].size,
			     named);
		if (strcmp(named, run->case_->record.pre_collection_preflight_sha256) !=
		    0) {
			ret_codes->has[FINDING_PRE_OBJECT] = true;
			return JUDGEMENT_REFUSED;
		}
	}
	judging_judge(run->case_, &verdict);
	for (size_t i = 0; i < verdict.findings.count; i++)
		ret_codes->has[verdict.findings.items[i].code] = true;
	return verdict.judgement;
}

static void show_wrong(const struct run *run, const char *what, size_t at, size_t value,
		       enum judgement judgement, const struct codes *found)
{
	printf("%s: %s at %zu, %zu: %s", words[run->word], what, at, value,
	       judgement_names[judgement]);
	for (size_t i = 0; i < FINDING_CODE_COUNT; i++)
		if (found->has[i])
			printf(" %s", finding_kinds[i].name);
	putchar('\n');
}

/* Judges one alteration; `one` and `other` are the stretches it may belong to. */
static void try_one(struct run *run, const char *what, char *data, size_t size, size_t at,
		    size_t value, const struct stretch *one, const struct stretch *other)
{
	struct codes found;
	enum judgement judgement;
	bool is_predicted = false;

	run->judged++;
	if (run->word == WORD_PRE || run->word == WORD_POST)
		bind_preflight(run, data, size, at);
	judgement = judge_altered(run, data, size, &found);
	if ((one->is_free || other->is_free) && judgement == run->base &&
	    memcmp(&found, &run->base_codes, sizeof(found)) == 0) {
		run->unseen++;
		return;
	}
	for (size_t i = 0; i < FINDING_CODE_COUNT; i++)
		is_predicted |=
			found.has[i] && (one->codes.has[i] || other->codes.has[i]);
	if (judgement == JUDGEMENT_REFUSED && is_predicted)
		return;
	if (run->wrong++ < SHOWN_MAX)
		show_wrong(run, what, at, value, judgement, &found);
}

/* A copy to alter, with room for one byte more. */
static char *copy_of(const struct bytes *bytes)
{
	char *copy = malloc(bytes->size + 2);

	if (!copy)
		abort();
	memcpy(copy, bytes->data, bytes->size);
	return copy;
}

static void flip_bits(struct run *run)
{
	const struct bytes *bytes = &run->documents[run->word];
	OWN(own_pointer) char *data = copy_of(bytes);

	for (size_t bit = 8 * run->from; bit < 8 * run->to; bit += run->every_bit) {
		size_t i = bit / 8;

		data[i] = (char)(bytes->data[i] ^ 1 << bit % 8);
		try_one(run, "bit flipped", data, bytes->size, i, bit % 8,
			&run->owners[i], &run->owners[i]);
		memcpy(data, bytes->data, bytes->size);
	}
}

static void truncate_everywhere(struct run *run)
{
	const struct bytes *bytes = &run->documents[run->word];
	OWN(own_pointer) char *data = copy_of(bytes);

	for (size_t i = run->from; i < run->to; i += run->every_bit) {
		try_one(run, "truncated", data, i, i, 0, &run->structure,
			&run->structure);
		memcpy(data, bytes->data, bytes->size);
	}
}

/* Tries one byte value, put in before byte `i`. */
static void insert_byte(struct run *run, char *data, size_t i, size_t byte)
{
	const struct bytes *bytes = &run->documents[run->word];
	const struct stretch *before = &run->owners[i ? i - 1 : 0];

	memcpy(data, bytes->data, i);
	data[i] = (char)byte;
	memcpy(data + i + 1, bytes->data + i, bytes->size - i);
	try_one(run, "byte inserted", data, bytes->size + 1, i, byte, before,
		i < bytes->size ? &run->owners[i] : before);
}

static void insert_everywhere(struct run *run)
{
	const struct bytes *bytes = &run->documents[run->word];
	OWN(own_pointer) char *data = copy_of(bytes);
	size_t end = run->to == bytes->size ? run->to + 1 : run->to;

	for (size_t n = 256 * run->from; n < 256 * end; n += run->every_byte)
		insert_byte(run, data, n / 256, n % 256);
}

static struct stretch read_stretch(char *line, size_t *ret_from, size_t *ret_to)
{
	struct stretch stretch = {0};
	char *rest = NULL, *word = strtok_r(line, " \n", &rest);

	*ret_from = word ? strtoul(word, NULL, 10) : 0;
	word = strtok_r(NULL, " \n", &rest);
	*ret_to = word ? strtoul(word, NULL, 10) : 0;
	word = strtok_r(NULL, " \n", &rest);
	stretch.is_free = word && strcmp(word, "free") == 0;
	while ((word = strtok_r(NULL, " \n", &rest)))
		stretch.codes.has[find_code(word)] = true;
	return stretch;
}

/* The line of what no other covers comes first. */
static void read_stretches(struct run *run)
{
	size_t size = run->documents[run->word].size, from = 0, to = 0;
	char line[1024];

	run->owners = calloc(size + 1, sizeof(*run->owners));
	if (!run->owners || !fgets(line, sizeof(line), stdin))
		abort();
	run->structure = read_stretch(line, &from, &to);
	for (size_t i = 0; i <= size; i++)
		run->owners[i] = run->structure;
	while (fgets(line, sizeof(line), stdin)) {
		struct stretch stretch = read_stretch(line, &from, &to);

		for (size_t i = from; i < to && i < size; i++)
			run->owners[i] = stretch;
	}
}

static int read_documents(struct run *run, char **paths)
{
	struct diag diag = {0};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (protected_read(paths[i], geteuid(), 0, STORE_OBJECT_LIMIT,
				   &run->documents[i], &diag) != 0) {
			fprintf(stderr, "judge_altered: %s: %s\n", diag.place, diag.text);
			return 2;
		}
	return 0;
}

/* The case as it is, before anything is altered. */
static void read_base(struct run *run)
{
	static const char key[] = "\"daemon\":";
	const struct bytes *altered = &run->documents[run->word];
	const char *daemon = memmem(altered->data, altered->size, key, sizeof(key) - 1);
	const char *end = memmem(altered->data, altered->size, ",\"daemon_sha256\"",
				 sizeof(",\"daemon_sha256\"") - 1);
	int word = run->word;

	run->case_->files = run->files;
	run->record = copy_of(&run->documents[WORD_RECORD]);
	for (run->word = 0; run->word < (int)ARRAY_SIZE(words); run->word++)
		if (!read_altered(run, run->documents[run->word].data,
				  run->documents[run->word].size))
			abort();
	run->word = word;
	if (daemon && end) {
		run->daemon_start = (size_t)(daemon + sizeof(key) - 1 - altered->data);
		run->daemon_end = (size_t)(end - altered->data);
	}
	run->base = judge_altered(run, altered->data, altered->size, &run->base_codes);
}

static int read_arguments(struct run *run, char **arguments)
{
	size_t *const numbers[] = {&run->from, &run->to, &run->every_bit,
				   &run->every_byte};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(arguments[0], words[i]) == 0)
			run->word = (int)i;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		*numbers[i] = strtoul(arguments[1 + i], NULL, 10);
	return run->to > run->documents[run->word].size || !run->every_bit ||
			       !run->every_byte
		       ? 2
		       : 0;
}

int main(int argc, char **argv)
{
	struct run run = {.files = calloc(1, sizeof(*run.files)),
			  .case_ = calloc(1, sizeof(*run.case_))};

	/* A decoder takes and gives back a quarter of a megabyte each time. */
	mallopt(M_MMAP_THRESHOLD, 1 << 26);
	mallopt(M_TRIM_THRESHOLD, 1 << 28);
	json_memory.room = malloc(JSON_ROOM);
	json_set_alloc_funcs(take_json_memory, give_json_memory);
	if (argc != 12 || !run.files || !run.case_ || !json_memory.room ||
	    read_documents(&run, argv + 1) != 0 || read_arguments(&run, argv + 7) != 0)
		return 2;
	read_stretches(&run);
	read_base(&run);
	flip_bits(&run);
	truncate_everywhere(&run);
	insert_everywhere(&run);
	printf("judged %lu unseen %lu wrong %lu\n", run.judged, run.unseen, run.wrong);
	return 0;
}
