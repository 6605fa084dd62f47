// SPDX-License-Identifier: GPL-2.0-or-later
// A live table and what its policy compiles to, each in both forms.
#include "policy/kernel/pair.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <linux/netfilter.h>

#include "common/canonical.h"
#include "common/child.h"
#include "common/clock.h"
#include "policy/kernel/chainwise.h"
#include "policy/kernel/kdump.h"
#include "policy/kernel/listing.h"
#include "policy/normalize.h"

/* Two listings, each with a deadline of its own, and a load. */
#define PAIR_TIMEOUT_MS 200000
#define PAIR_ERROR_LIMIT 65536

/* Pauses of 20 ms, 40 ms, ... between the tries: half a second in all. */
#define PAIR_TRIES 5
#define PAIR_PAUSE_NS 20000000L

enum blob {
	BLOB_LIVE_MESSAGES,
	BLOB_LIVE_JSON,
	BLOB_LIVE_ENTRIES,
	BLOB_LIVE_LISTING,
	BLOB_MESSAGES,
	BLOB_JSON,
	BLOB_LISTING,
	BLOB_COUNT,
};

/* What the children write, in memory shared with them. */
struct shared {
	struct diag live;        /* why the live table could not be dumped */
	struct diag live_json;   /* why it has no entries */
	struct diag wanted;      /* why the policy could not be loaded and dumped */
	struct diag wanted_json; /* why it has no entries */
	bool is_live_done, is_wanted_done;
	uint32_t generation;
	int64_t before_ms, after_ms;
};

struct job {
	const char *table, *text;
	bool has_listings;
	int blobs[BLOB_COUNT]; /* memfds */
	struct shared *shared;
};

static void release_job(struct job *job)
{
	for (int i = 0; i < BLOB_COUNT; i++)
		own_fd(&job->blobs[i]);
	if (job->shared)
		munmap(job->shared, sizeof(*job->shared));
	job->shared = NULL;
}

/* --- in the children ----------------------------------------------------------- */

static int write_blob(const struct job *job, enum blob blob, const struct bytes *bytes,
		      struct diag *diag)
{
	for (size_t done = 0; done < bytes->size;) {
		ssize_t put =
			write(job->blobs[blob], bytes->data + done, bytes->size - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return diag_fail(diag, errno, NULL, "cannot keep a listing");
		done += (size_t)put;
	}
	return 0;
}

/* For a report; a report without it says less. */
static void list_text(const struct job *job, enum blob blob)
{
	OWN(own_bytes) struct bytes text = {0};
	struct diag ignored = {0};

	if (job->has_listings &&
	    listing_read(job->table, LISTING_HANDLES, &text, &ignored) == 0)
		write_blob(job, blob, &text, &ignored);
}

/* `messages` is a dump of the table, from a moment ago. */
static int list_json(const struct job *job, enum blob blob, const struct bytes *messages,
		     struct bytes *ret_text, struct diag *diag)
{
	int error =
		chainwise_list(job->table, messages, CHAINWISE_RULES_MIN, ret_text, diag);

	if (!error && !ret_text->data)
		error = listing_read(job->table, LISTING_JSON, ret_text, diag);
	return error ? error : write_blob(job, blob, ret_text, diag);
}

/* The normalized entries of a listing, canonical. */
static int normalize(const char *table, const struct bytes *text,
		     struct bytes *ret_entries, struct diag *diag)
{
	OWN(own_json) json_t *entries = NULL;
	int error = normalize_listing(text->data, text->size, "listing", table, &entries,
				      diag);

	return error ? error : canonical_write(entries, ret_entries, diag);
}

/* Dumps the table in the namespace that the caller is in. */
static int dump(const struct job *job, enum blob blob, struct bytes *ret_messages,
		uint32_t *ret_generation, struct diag *diag)
{
	OWN(nfnl_close) struct nfnl nfnl = {0};
	int error = nfnl_open(&nfnl, diag);

	if (!error)
		error = kdump_table(&nfnl, NFPROTO_INET, job->table, ret_messages,
				    ret_generation, diag);
	return error ? error : write_blob(job, blob, ret_messages, diag);
}

static void make_wanted(const struct job *job)
{
	OWN(own_bytes) struct bytes messages = {0}, json = {0};
	struct shared *shared = job->shared;
	uint32_t generation;
	int error = 0;

	if (unshare(CLONE_NEWNET) != 0)
		error = diag_fail(&shared->wanted, errno, NULL,
				  "no network namespace to load the policy into");
	if (!error)
		error = listing_load(job->text, &shared->wanted);
	if (!error)
		error = dump(job, BLOB_MESSAGES, &messages, &generation, &shared->wanted);
	if (!error && !messages.size)
		error = diag_fail(&shared->wanted, 0, NULL,
				  "the policy's text makes no table %s", job->table);
	if (!error &&
	    list_json(job, BLOB_JSON, &messages, &json, &shared->wanted_json) == 0)
		list_text(job, BLOB_LISTING);
	shared->is_wanted_done = true;
}

static int make_live_entries(const struct job *job, const struct bytes *messages,
			     struct diag *diag)
{
	OWN(own_bytes) struct bytes json = {0}, entries = {0};
	int error = list_json(job, BLOB_LIVE_JSON, messages, &json, diag);

	if (!error)
		error = normalize(job->table, &json, &entries, diag);
	return error ? error : write_blob(job, BLOB_LIVE_ENTRIES, &entries, diag);
}

static void make_live(const struct job *job)
{
	OWN(own_bytes) struct bytes messages = {0};
	struct shared *shared = job->shared;
	int error;

	shared->before_ms = clock_wall_ms();
	error = dump(job, BLOB_LIVE_MESSAGES, &messages, &shared->generation,
		     &shared->live);
	shared->after_ms = clock_wall_ms();
	if (!error && messages.size &&
	    make_live_entries(job, &messages, &shared->live_json) == 0)
		list_text(job, BLOB_LIVE_LISTING);
	shared->is_live_done = true;
}

/* The function of the first child: forks the one with the namespace, and lists the
 * live table beside it. */
static int run(void *context)
{
	const struct job *job = context;
	pid_t self = getpid(), child = fork();
	int status;

	if (child < 0) {
		diag_fail(&job->shared->wanted, errno, NULL, "no child process");
		job->shared->is_wanted_done = true;
	} else if (child == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == self)
			make_wanted(job);
		_exit(0);
	}
	make_live(job);
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			break;
	return 0;
}

/* --- in the caller ------------------------------------------------------------- */

static int start_job(struct job *job, struct diag *diag)
{
	job->shared = mmap(NULL, sizeof(*job->shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (job->shared == MAP_FAILED) {
		job->shared = NULL;
		return diag_no_memory(diag);
	}
	for (int i = 0; i < BLOB_COUNT; i++) {
		job->blobs[i] = memfd_create("netproof", MFD_CLOEXEC);
		if (job->blobs[i] < 0)
			return diag_fail(diag, errno, NULL, "no memory file");
	}
	return 0;
}

static int read_blob(const struct job *job, enum blob blob, struct bytes *ret_bytes,
		     struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct stat status;

	if (fstat(job->blobs[blob], &status) != 0)
		return diag_fail(diag, errno, NULL, "cannot read a memory file");
	if (!status.st_size)
		return 0;
	bytes.data = malloc((size_t)status.st_size + 1);
	if (!bytes.data)
		return diag_no_memory(diag);
	while (bytes.size < (size_t)status.st_size) {
		ssize_t got =
			pread(job->blobs[blob], bytes.data + bytes.size,
			      (size_t)status.st_size - bytes.size, (off_t)bytes.size);

		if (got <= 0)
			return diag_fail(diag, got ? errno : EIO, NULL,
					 "cannot read a memory file");
		bytes.size += (size_t)got;
	}
	bytes.data[bytes.size] = '\0';
	*ret_bytes = take_bytes(&bytes);
	return 0;
}

/* Children write diags; what they wrote is made a string again, whatever it is. */
static struct diag read_diag(const struct diag *shared)
{
	struct diag diag = *shared;

	diag.place[sizeof(diag.place) - 1] = '\0';
	diag.text[sizeof(diag.text) - 1] = '\0';
	if (diag.kind != DIAG_NONE)
		diag.kind = DIAG_UNDECIDED;
	return diag;
}

/* What keeps a side from being known at all. */
static int check_side(const struct diag *why, bool is_done, const char *prefix,
		      struct diag *diag)
{
	if (why->kind != DIAG_NONE) {
		*diag = read_diag(why);
		diag_prefix(diag, prefix);
		return -EIO;
	}
	if (!is_done)
		return diag_fail(diag, 0, prefix, "the process at work in it has died");
	return 0;
}

/* `{"packets": 7, "bytes": 8` or a number, wherever a listing has the key before it.
 * Returns how many bytes of `text` that is, 0 if it is something else. */
static size_t skip_numbers(const char *text)
{
	static const char packets[] = "{\"packets\": ", bytes[] = ", \"bytes\": ";
	const char *at = text;

	if (*at != '{')
		return strspn(at, "0123456789");
	if (strncmp(at, packets, strlen(packets)) != 0)
		return 0;
	at += strlen(packets);
	at += strspn(at, "0123456789");
	if (strncmp(at, bytes, strlen(bytes)) != 0)
		return 0;
	at += strlen(bytes);
	at += strspn(at, "0123456789");
	return (size_t)(at - text);
}

/* Whether two listings are the same text but for the values of `"handle"` and of
 * `"counter"`, which normalizing takes away wherever they are. A quote in a string
 * has a backslash before it, so these bytes are always a key. Strict: "no" for
 * whatever is not understood. Both end with a NUL. */
static bool is_alike(const struct bytes *a, const struct bytes *b)
{
	static const char *const keys[] = {"\"handle\": ", "\"counter\": "};
	const char *left = a->data, *right = b->data;

	if (!left || !right || strlen(left) != a->size || strlen(right) != b->size)
		return false;
	while (*left && *left == *right) {
		bool is_key = false;

		for (size_t i = 0; *left == '"' && i < ARRAY_SIZE(keys); i++) {
			size_t length = strlen(keys[i]);

			if ((left > a->data && left[-1] == '\\') ||
			    strncmp(left, keys[i], length) != 0 ||
			    strncmp(right, keys[i], length) != 0)
				continue;
			left += length;
			right += length;
			left += skip_numbers(left);
			right += skip_numbers(right);
			is_key = true;
			break;
		}
		if (!is_key) {
			left++;
			right++;
		}
	}
	return !*left && !*right;
}

/* The entries of the wanted side: those of the live one if the listings are alike. */
static int take_entries(const struct job *job, struct pair *pair, struct diag *diag)
{
	OWN(own_bytes) struct bytes live = {0}, wanted = {0};
	int error = read_blob(job, BLOB_LIVE_ENTRIES, &pair->live.entries, diag);

	if (!error)
		error = read_blob(job, BLOB_LIVE_JSON, &live, diag);
	if (!error)
		error = read_blob(job, BLOB_JSON, &wanted, diag);
	if (error)
		return error;
	pair->is_listed_alike = pair->live.entries.size && is_alike(&live, &wanted);
	if (pair->is_listed_alike || pair->wanted.no_entries.kind != DIAG_NONE)
		return 0;
	/* Not to be normalized: as good as not listed. */
	normalize(job->table, &wanted, &pair->wanted.entries, &pair->wanted.no_entries);
	return 0;
}

static int take_results(const struct job *job, struct pair *pair, struct diag *diag)
{
	const struct shared *shared = job->shared;
	int error = check_side(&shared->wanted, shared->is_wanted_done,
			       "scratch namespace", diag);

	if (!error)
		error = check_side(&shared->live, shared->is_live_done, job->table, diag);
	if (error)
		return error;
	pair->generation = shared->generation;
	pair->before_ms = shared->before_ms;
	pair->after_ms = shared->after_ms;
	pair->live.no_entries = read_diag(&shared->live_json);
	pair->wanted.no_entries = read_diag(&shared->wanted_json);
	error = read_blob(job, BLOB_LIVE_MESSAGES, &pair->live.messages, diag);
	if (!error)
		error = read_blob(job, BLOB_MESSAGES, &pair->wanted.messages, diag);
	if (!error)
		error = read_blob(job, BLOB_LIVE_LISTING, &pair->live.listing, diag);
	if (!error)
		error = read_blob(job, BLOB_LISTING, &pair->wanted.listing, diag);
	return error ? error : take_entries(job, pair, diag);
}

static int run_job(struct job *job, struct pair *pair, struct diag *diag)
{
	struct child_spec spec = {
		.function = run,
		.name = "libnftables",
		.context = job,
		.timeout_ms = PAIR_TIMEOUT_MS,
		.output_limit = PAIR_ERROR_LIMIT,
		.error_limit = PAIR_ERROR_LIMIT,
		.keep_fds = job->blobs,
		.keep_count = BLOB_COUNT,
	};
	OWN(child_result_release) struct child_result result = {0};
	int error = start_job(job, diag);

	if (!error)
		error = child_run_checked(&spec, &result, diag);
	return error ? error : take_results(job, pair, diag);
}

static int read_once(const char *table, const char *text, bool has_listings,
		     struct pair *pair, struct diag *diag)
{
	OWN(release_job)
	struct job job = {
		.table = table,
		.text = text,
		.has_listings = has_listings,
		.blobs = {-1, -1, -1, -1, -1, -1, -1},
	};

	return run_job(&job, pair, diag);
}

int pair_read(const char *table, const char *text, bool has_listings,
	      struct pair *ret_pair, struct diag *diag)
{
	struct timespec pause = {.tv_nsec = PAIR_PAUSE_NS};
	OWN(nfnl_close) struct nfnl nfnl = {0};
	int error = nfnl_open(&nfnl, diag);

	for (int try = 0; !error && try < PAIR_TRIES; try++) {
		OWN(pair_release) struct pair pair = {0};
		uint32_t generation;

		if (try > 0) {
			/* Cut short by a signal: only an earlier next try. */
			nanosleep(&pause, NULL);
			pause.tv_nsec *= 2;
		}
		error = read_once(table, text, has_listings, &pair, diag);
		if (!error)
			error = nfnl_generation(&nfnl, &generation, diag);
		if (error)
			return error;
		if (generation == pair.generation) {
			*ret_pair = pair;
			pair = (struct pair){0};
			return 0;
		}
	}
	return error ? error
		     : diag_fail(diag, 0, table,
				 "the ruleset kept changing while it was compared (%d "
				 "tries); see who loads rules, and try again",
				 PAIR_TRIES);
}

static void release_side(struct pair_side *side)
{
	own_bytes(&side->messages);
	own_bytes(&side->entries);
	own_bytes(&side->listing);
}

void pair_release(struct pair *pair)
{
	release_side(&pair->live);
	release_side(&pair->wanted);
}
