// SPDX-License-Identifier: GPL-2.0-or-later
// Reading what agents and the engine sent, in a process that can do nothing else.
#include "collector/decoder.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <grp.h>

#include "common/clock.h"
#include "common/sandbox.h"

enum {
	DECODER_TIMEOUT_MS = 10000,
	DECODER_UID = 65534, /* nobody's */
	DECODER_MEMORY = 64 << 20,
	NAME_SIZE = 128,
	STANDARD_IN = 0,
	STANDARD_OUT = 1,
};

struct request_head {
	uint32_t format;
	uint32_t size;
	char name[NAME_SIZE];
};

struct answer_head {
	int32_t error; /* 0: the struct follows; else a struct diag */
	uint32_t size;
};

/* --- the process ---------------------------------------------------------------- */

/* syscalls: reading and writing our two pipes, the allocator's, and the end. */
static const struct sandbox_call calls[] = {
	{.number = SCMP_SYS(read)},
	{.number = SCMP_SYS(write)},
	{.number = SCMP_SYS(brk)},
	{.number = SCMP_SYS(mmap)},
	{.number = SCMP_SYS(munmap)},
	{.number = SCMP_SYS(mremap)},
	{.number = SCMP_SYS(madvise)},
	{.number = SCMP_SYS(futex)},
	{.number = SCMP_SYS(getrandom)},
	{.number = SCMP_SYS(clock_gettime)},
	{.number = SCMP_SYS(exit_group)},
	{.number = SCMP_SYS(rt_sigreturn)},
	/* stdio of a sanitized build, and jansson's seed. */
	{.number = SCMP_SYS(fstat)},
	{.number = SCMP_SYS(newfstatat)},
	{.number = SCMP_SYS(gettid)},
	{.number = SCMP_SYS(getpid)},
	{.number = SCMP_SYS(gettimeofday)},
};

static bool read_whole(void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = read(STANDARD_IN, (char *)data + done, size - done);

		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static bool write_whole(const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t put = write(STANDARD_OUT, (const char *)data + done, size - done);

		if (put <= 0)
			return false;
		done += (size_t)put;
	}
	return true;
}

static int confine(struct diag *diag)
{
	const struct rlimit memory = {DECODER_MEMORY, DECODER_MEMORY};
	const struct rlimit none = {0, 0};
	int error = sandbox_drop_bounding_set(diag);

	if (error)
		return error;
	if (setgroups(0, NULL) != 0 ||
	    setresgid(DECODER_UID, DECODER_UID, DECODER_UID) != 0 ||
	    setresuid(DECODER_UID, DECODER_UID, DECODER_UID) != 0)
		return diag_fail(diag, errno, "decoder", "cannot change user");
	error = sandbox_drop_privileges(diag);
	if (error)
		return error;
#ifndef __SANITIZE_ADDRESS__
	if (setrlimit(RLIMIT_AS, &memory) != 0)
		return diag_fail(diag, errno, "decoder", "cannot bound memory");
#else
	(void)memory;
#endif
	if (setrlimit(RLIMIT_FSIZE, &none) != 0 || setrlimit(RLIMIT_CORE, &none) != 0)
		return diag_fail(diag, errno, "decoder", "cannot bound itself");
	return sandbox_filter(calls, ARRAY_SIZE(calls), diag);
}

static bool serve(const struct decoder *decoder)
{
	OWN(own_pointer) char *data = NULL;
	OWN(own_pointer) void *object = NULL;
	const struct decoder_format *format;
	struct request_head head;
	struct answer_head answer = {0, 0};
	struct diag diag = {0};

	if (!read_whole(&head, sizeof(head)) || head.format >= decoder->count)
		return false;
	format = &decoder->formats[head.format];
	head.name[sizeof(head.name) - 1] = '\0';
	data = malloc((size_t)head.size + 1);
	object = calloc(1, format->table->size);
	if (!data || !object || !read_whole(data, head.size))
		return false;
	data[head.size] = '\0';
	if (format->read)
		answer.error = format->read(data, head.size, head.name, object, &diag);
	else
		answer.error = json_table_parse(data, head.size, format->limit, head.name,
						format->table, object, &diag);
	answer.size = (uint32_t)(answer.error ? sizeof(diag) : format->table->size);
	return write_whole(&answer, sizeof(answer)) &&
	       write_whole(answer.error ? (void *)&diag : object, answer.size);
}

static int be_decoder(void *context)
{
	const struct decoder *decoder = context;
	struct diag diag = {0};

	json_object_seed(0); /* draws its random number before the filter */
	/* Whoever asks one that could not confine itself gets no answer. */
	if (confine(&diag))
		return 1;
	while (serve(decoder))
		;
	return 0;
}

/* --- our side ------------------------------------------------------------------- */

int decoder_start(const struct decoder_format *formats, size_t count,
		  struct decoder *ret_decoder, struct diag *diag)
{
	struct decoder decoder = {SPAWNED_INIT, formats, count};
	const struct spawn_spec spec = {
		.program_fd = -1, .function = be_decoder, .context = &decoder};
	int error = spawn_start(&spec, "decoder", &decoder.child, diag);

	if (error)
		return error;
	*ret_decoder = decoder;
	return 0;
}

void decoder_stop(struct decoder *decoder)
{
	spawn_stop(&decoder->child);
}

static int transfer(int fd, short events, void *data, size_t size, int64_t deadline)
{
	for (size_t done = 0; done < size;) {
		struct pollfd polled = {.fd = fd, .events = events};
		int64_t left = deadline - clock_boot_ms();
		char *at = (char *)data + done;
		ssize_t moved;

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&polled, 1, (int)left) <= 0)
			continue;
		moved = events == POLLIN ? read(fd, at, size - done)
					 : write(fd, at, size - done);
		if (moved == 0)
			return -EPIPE;
		if (moved < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (moved > 0)
			done += (size_t)moved;
	}
	return 0;
}

/* A diag from the decoder is text like any other: cut, terminated, cleaned. */
static int take_refusal(const struct decoder *decoder, int64_t deadline,
			struct diag *diag)
{
	struct diag theirs;
	int error = transfer(decoder->child.output, POLLIN, &theirs, sizeof(theirs),
			     deadline);

	if (error)
		return diag_fail(diag, -error, "decoder", "gives no answer");
	theirs.place[sizeof(theirs.place) - 1] = '\0';
	theirs.text[sizeof(theirs.text) - 1] = '\0';
	if (theirs.kind == DIAG_REFUSED)
		return diag_refuse(diag, theirs.place, "%s", theirs.text);
	return diag_fail(diag, 0, theirs.place, "%s", theirs.text);
}

int decoder_parse(struct decoder *decoder, size_t format, const void *data, size_t size,
		  const char *name, void *ret_object, struct diag *diag)
{
	const struct json_table *table = decoder->formats[format].table;
	OWN(own_pointer) void *object = calloc(1, table->size);
	struct request_head head = {.format = (uint32_t)format, .size = (uint32_t)size};
	int64_t deadline = clock_boot_ms() + DECODER_TIMEOUT_MS;
	struct answer_head answer;
	int error;

	if (!object)
		return diag_no_memory(diag);
	if (size > decoder->formats[format].limit)
		return diag_refuse(diag, name,
				   "more than %zu bytes; find what makes it so long",
				   decoder->formats[format].limit);
	strncpy(head.name, name, sizeof(head.name) - 1);
	error = transfer(decoder->child.input, POLLOUT, &head, sizeof(head), deadline);
	if (!error)
		error = transfer(decoder->child.input, POLLOUT, (void *)data, size,
				 deadline);
	if (!error)
		error = transfer(decoder->child.output, POLLIN, &answer, sizeof(answer),
				 deadline);
	if (!error && answer.error && answer.size == sizeof(struct diag))
		return take_refusal(decoder, deadline, diag);
	if (!error && (answer.error || answer.size != table->size))
		error = -EBADMSG;
	if (!error)
		error = transfer(decoder->child.output, POLLIN, object, answer.size,
				 deadline);
	if (error)
		return diag_fail(diag, -error, "decoder", "gives no answer");
	if (!decoder_check(table, object))
		return diag_fail(diag, 0, "decoder", "its answer for %s is not one",
				 name);
	memcpy(ret_object, object, table->size);
	return 0;
}

/* --- what it may send ----------------------------------------------------------- */

static bool check_field(const struct json_field *field, const void *object);

static bool check_text(const struct json_field *field, const char *text)
{
	const struct json_rule *rule = field->detail;
	size_t length = strnlen(text, (size_t)field->max + 1);

	return length <= (size_t)field->max && length >= (size_t)field->min &&
	       (!rule || rule->is_valid(text));
}

static bool check_choice(const struct json_field *field, int value)
{
	const char *const *names = field->detail;
	int count = 0;

	while (names[count])
		count++;
	return value >= 0 && value < count;
}

static bool check_array(const struct json_field *field, const char *items, size_t count)
{
	const struct json_field *item = field->detail;

	if (count < (size_t)field->min || count > (size_t)field->max)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!check_field(item, items + i * field->size))
			return false;
	return true;
}

static bool check_flag(const void *byte)
{
	return *(const unsigned char *)byte <= 1;
}

/* An absent optional field is never read: its bytes do not matter. */
static bool check_field(const struct json_field *field, const void *object)
{
	const char *value = (const char *)object + field->offset;

	if (field->present_offset) {
		const char *present = (const char *)object + field->present_offset;

		if (!check_flag(present))
			return false;
		if (!*(const bool *)present)
			return true;
	}
	if (field->type == &json_type_integer)
		return *(const int64_t *)(const void *)value >= field->min &&
		       *(const int64_t *)(const void *)value <= field->max;
	if (field->type == &json_type_boolean)
		return check_flag(value);
	if (field->type == &json_type_text)
		return check_text(field, value);
	if (field->type == &json_type_literal)
		return true;
	if (field->type == &json_type_choice)
		return check_choice(field, *(const int *)(const void *)value);
	if (field->type == &json_type_object)
		return decoder_check(field->detail, value);
	if (field->type == &json_type_array)
		return check_array(field, value,
				   *(const size_t *)(const void *)((const char *)object +
								   field->count_offset));
	return false; /* a type of a module's own: teach it here first */
}

bool decoder_check(const struct json_table *table, const void *object)
{
	for (size_t i = 0; i < table->count; i++)
		if (!check_field(&table->fields[i], object))
			return false;
	return true;
}
