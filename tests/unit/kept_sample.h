/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A format with every type of common/json_table.h, for tests of its two readers. */
#ifndef TESTS_UNIT_KEPT_SAMPLE_H
#define TESTS_UNIT_KEPT_SAMPLE_H

#include "common/json_table.h"

struct kept_item {
	char text[8];
	bool flag;
};

struct kept_sample {
	int64_t num, number; /* one key is the other's beginning */
	bool has_note, has_part;
	char note[6];
	char path[16];
	int choice;
	struct kept_item part;
	struct kept_item items[3];
	size_t item_count;
	char names[2][4];
	size_t name_count;
};

extern const struct json_table kept_sample_table;

/* Reads in the quick way, and in the way through a tree; both into `object`, zeroed
 * before. */
bool kept_sample_read(const void *data, size_t size, struct kept_sample *object);
bool kept_sample_read_tree(const void *data, size_t size, struct kept_sample *object);

#endif
