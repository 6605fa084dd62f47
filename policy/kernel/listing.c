// SPDX-License-Identifier: GPL-2.0-or-later
// libnftables: loading text of ours, and listing a table.
#include "policy/kernel/listing.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <nftables/libnftables.h>

#include "common/child.h"

/* A listing walks the whole cgroup tree for each cgroup element: seconds where
 * there are thousands. A start job waits longer than this. */
#define TIMEOUT_MS 60000
#define ERROR_LIMIT 65536
/* What a child may have in memory: libnftables takes 10 KiB for a rule, so much more
 * than a listing of LISTING_LIMIT needs. It exits when it gets no more. */
#define MEMORY_LIMIT (2UL << 30)
#define COMMAND_SIZE 320

struct job {
	const struct bytes *commands; /* run one after the other, each by itself */
	size_t count;
	unsigned int output_flags;
};

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t put = write(fd, text, left);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		text += put;
		left -= (size_t)put;
	}
	return 0;
}

/* Runs one of the commands. libnftables hands over its output and begins anew. */
static int run_command(struct nft_ctx *nft, const char *command)
{
	const char *output;

	if (nft_run_cmd_from_buffer(nft, command) != 0) {
		write_all(2, nft_ctx_get_error_buffer(nft));
		return 1;
	}
	output = nft_ctx_get_output_buffer(nft);
	if (output && write_all(1, output) != 0)
		return 3;
	return 0;
}

/* Whoever fills a table does not fill the host's memory with it. */
static int limit_memory(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit) != 0)
		return -errno;
	if (limit.rlim_max > MEMORY_LIMIT) /* RLIM_INFINITY is the largest number */
		limit.rlim_max = MEMORY_LIMIT;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_DATA, &limit) == 0 ? 0 : -errno;
}

/* In the child. The context is not freed: the process ends. */
static int run(void *context)
{
	const struct job *job = context;
	struct nft_ctx *nft;
	int status = 0;

	/* glibc merges its fast bins at each large request, of which a long listing makes
	 * many: without them it takes an eighth less. */
	mallopt(M_MXFAST, 0);
	nft = limit_memory() == 0 ? nft_ctx_new(NFT_CTX_DEFAULT) : NULL;
	if (!nft || nft_ctx_buffer_output(nft) != 0 || nft_ctx_buffer_error(nft) != 0) {
		write_all(2, "Error: libnftables could not be set up\n");
		return 2;
	}
	nft_ctx_output_set_flags(nft, job->output_flags);
	for (size_t i = 0; !status && i < job->count; i++)
		status = run_command(nft, job->commands[i].data);
	return status;
}

/* libnftables' messages have a place before "Error: " and the command, marked,
 * on the lines after. */
static int explain(const struct child_spec *spec, const struct child_result *result,
		   const char *doing, struct diag *diag)
{
	static const char mark[] = "Error: ";
	const char *message;

	if (result->exit_status != 1 || !result->error.data)
		return child_explain(spec, result, diag);
	message = strstr(result->error.data, mark);
	message = message ? message + strlen(mark) : result->error.data;
	return diag_fail(diag, 0, NULL, "libnftables could not %s: %.*s", doing,
			 (int)strcspn(message, "\n"), message);
}

static int run_child(struct job *job, const char *doing, struct bytes *ret_output,
		     struct diag *diag)
{
	struct child_spec spec = {
		.function = run,
		.name = "libnftables",
		.context = job,
		.timeout_ms = TIMEOUT_MS,
		.output_limit = LISTING_LIMIT,
		.error_limit = ERROR_LIMIT,
	};
	OWN(child_result_release) struct child_result result = {0};
	int error = child_run(&spec, &result, diag);

	if (error)
		return error;
	if (result.exit_status != 0 || result.is_timeout || result.is_overflow)
		return explain(&spec, &result, doing, diag);
	*ret_output = take_bytes(&result.output);
	return 0;
}

int listing_load(const char *text, struct diag *diag)
{
	/* run() only reads it. */
	struct bytes command = {.data = (char *)text, .size = strlen(text)};
	struct job job = {.commands = &command, .count = 1};
	OWN(own_bytes) struct bytes output = {0};

	return run_child(&job, "load the policy", &output, diag);
}

int listing_read(const char *table, enum listing_form form, struct bytes *ret_bytes,
		 struct diag *diag)
{
	char text[COMMAND_SIZE], doing[COMMAND_SIZE];
	struct bytes command = {.data = text};
	struct job job = {.commands = &command, .count = 1};
	OWN(own_bytes) struct bytes output = {0};
	int error;

	assert(strlen(table) < 256);
	snprintf(text, sizeof(text), "list table inet %s\n", table);
	snprintf(doing, sizeof(doing), "list table inet %s", table);
	if (form == LISTING_JSON)
		job.output_flags = NFT_CTX_OUTPUT_JSON;
	else if (form == LISTING_HANDLES)
		job.output_flags = NFT_CTX_OUTPUT_HANDLE | NFT_CTX_OUTPUT_NUMERIC_PRIO |
				   NFT_CTX_OUTPUT_NUMERIC_TIME;
	error = run_child(&job, doing, &output, diag);
	if (error)
		return error;
	if (!output.data)
		return diag_fail(diag, 0, NULL,
				 "libnftables listed nothing of table inet %s", table);
	*ret_bytes = take_bytes(&output);
	return 0;
}

int listing_run(const struct bytes *commands, size_t count, struct bytes *ret_output,
		struct diag *diag)
{
	struct job job = {
		.commands = commands,
		.count = count,
		.output_flags = NFT_CTX_OUTPUT_JSON,
	};

	return run_child(&job, "list a table in pieces", ret_output, diag);
}
