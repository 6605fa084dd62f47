// SPDX-License-Identifier: GPL-2.0-or-later
// Where the head of an HTTP request ends; nothing in it is looked at.
#include "proxy/head.h"

bool head_is_over(struct head *head, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (++head->size >= HEAD_LIMIT)
			return true;
		if (data[i] == '\n') {
			if (head->has_text && head->is_line_empty)
				return true;
			head->is_line_empty = true;
		} else if (data[i] != '\r') {
			head->has_text = true;
			head->is_line_empty = false;
		}
	}
	return false;
}
