/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents for keeping, read straight from their canonical bytes into a struct. */
#ifndef COMMON_JSON_KEPT_H
#define COMMON_JSON_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/json_table.h"

/*
 * Theory of operation
 *
 * A document for keeping has one form only (SPEC 3), so it can be read without a
 * tree: every byte is either the one that form has there, or part of a value that
 * the table judges. A verifier of a thousand records spends its time here.
 *
 * It says yes or nothing: whatever it does not recognize is left to the way
 * through json_parse(), which finds the reason. What it accepts, that way accepts
 * too, with the same result; the fuzz targets and json_table's unit test hold
 * the two to it.
 */

/* Reads `size` bytes into `object` (`table->size` bytes, all zero). Returns false,
 * with `object` in any state, if they are not a whole document of `table` in the
 * form for keeping. Types that a module made itself are not known here. */
bool json_kept_read(const void *data, size_t size, const struct json_table *table,
		    void *object);

#endif
