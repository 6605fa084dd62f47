// SPDX-License-Identifier: GPL-2.0-or-later
// A mutator for canonical JSON: changes values inside a document and writes it
// again, so that a decoder sees more than its first check.
#include <stdint.h>
#include <string.h>

#include "common/canonical.h"
#include "common/json.h"

#define INPUT_LIMIT (1024 * 1024)
#define CHANGES_MAX 4

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
			       unsigned int seed);

static uint32_t next(uint32_t *state)
{
	/* Marsaglia's xorshift32; 0 is its only fixed point. */
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static json_t *make_value(uint32_t *state)
{
	static const char *const words[] = {
		"",           "connected", "denied",   "control",
		"candidate",  "scoped",    "net-once", "0123456789abcdef",
		"worker.dns", "/etc/x",    "1.1.1.1",  "name=rootless",
	};
	static const json_int_t numbers[] = {
		0, 1, 2, 65535, 65536, 4294967295, 999999999999999, 1000000000000000, -1};

	switch (next(state) % 6) {
	case 0:
	case 1:
		return json_string(words[next(state) % ARRAY_SIZE(words)]);
	case 2:
	case 3:
		return json_integer(numbers[next(state) % ARRAY_SIZE(numbers)]);
	case 4:
		return json_boolean(next(state) % 2);
	default:
		return next(state) % 2 ? json_array() : json_object();
	}
}

static const char *pick_key(json_t *object, uint32_t *state)
{
	size_t index = next(state) % json_object_size(object);
	void *i = json_object_iter(object);

	while (index--)
		i = json_object_iter_next(object, i);
	return json_object_iter_key(i);
}

static void change(json_t *value, uint32_t *state);

static void change_object(json_t *object, uint32_t *state)
{
	const char *key;

	if (json_object_size(object) == 0) {
		json_object_set_new(object, "extra", make_value(state));
		return;
	}
	key = pick_key(object, state);
	if (next(state) % 4) {
		change(json_object_get(object, key), state);
		if (json_is_object(json_object_get(object, key)) ||
		    json_is_array(json_object_get(object, key)))
			return;
	}
	if (next(state) % 8 == 0)
		json_object_del(object, key);
	else
		json_object_set_new(object, key, make_value(state));
}

static void change_array(json_t *array, uint32_t *state)
{
	size_t count = json_array_size(array), index = count ? next(state) % count : 0;

	switch (count ? next(state) % 6 : 0) {
	case 0:
		json_array_append_new(array, make_value(state));
		break;
	case 1:
		json_array_remove(array, index);
		break;
	case 2:
		json_array_append_new(array,
				      json_deep_copy(json_array_get(array, index)));
		break;
	case 3:
		json_array_set_new(array, index, make_value(state));
		break;
	default:
		change(json_array_get(array, index), state);
	}
}

static void change(json_t *value, uint32_t *state)
{
	const char *text = json_string_value(value);
	char shorter[256];

	if (json_is_object(value)) {
		change_object(value, state);
	} else if (json_is_array(value)) {
		change_array(value, state);
	} else if (json_is_integer(value)) {
		json_integer_set(value, json_integer_value(value) + next(state) % 3 - 1);
	} else if (text && *text && strlen(text) < sizeof(shorter)) {
		memcpy(shorter, text, strlen(text) + 1);
		shorter[next(state) % strlen(text)] = (char)(' ' + next(state) % 95);
		json_string_set(value, shorter);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
			       unsigned int seed)
{
	OWN(own_json) json_t *root = NULL;
	OWN(own_bytes) struct bytes bytes = {0};
	uint32_t state = seed | 1;
	struct diag diag = {0};

	if (next(&state) % 4 == 0 ||
	    json_parse(data, size, INPUT_LIMIT, "input", &root, &diag) != 0)
		return LLVMFuzzerMutate(data, size, max_size);
	for (uint32_t i = 1 + next(&state) % CHANGES_MAX; i > 0; i--)
		change(root, &state);
	if (canonical_write(root, &bytes, &diag) != 0 || bytes.size > max_size)
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(data, bytes.data, bytes.size);
	return bytes.size;
}
