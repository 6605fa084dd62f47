/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every cmocka program includes, in the order cmocka wants. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/diag.h"
#include "common/own.h"

/* `diag` is a refusal that reads `line_`: "PLACE: TEXT". */
#define assert_refused(diag_, line_)                                                     \
	do {                                                                             \
		char rendered_[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];                        \
		diag_render(&(diag_), rendered_, sizeof(rendered_));                     \
		assert_string_equal(rendered_, line_);                                   \
		assert_int_equal((diag_).kind, DIAG_REFUSED);                            \
	} while (0)

#endif
