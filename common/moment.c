// SPDX-License-Identifier: GPL-2.0-or-later
// A time as people read it.
#include "common/moment.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define LAST INT64_C(253402300799) /* 9999-12-31T23:59:59Z */

char *moment_format(int64_t at_unix, char ret_text[MOMENT_SIZE])
{
	time_t seconds = (time_t)at_unix;
	struct tm utc;

	if (at_unix < 0 || at_unix > LAST || !gmtime_r(&seconds, &utc) ||
	    strftime(ret_text, MOMENT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		snprintf(ret_text, MOMENT_SIZE, "%" PRId64, at_unix);
	return ret_text;
}
