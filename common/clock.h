/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks every deadline and duration here is taken from. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

/* Milliseconds since 1970-01-01T00:00:00Z (CLOCK_REALTIME). */
int64_t clock_wall_ms(void);

/* Milliseconds since boot, suspended time included (CLOCK_BOOTTIME): it
 * cannot be set, so a deadline on it cannot be moved. */
int64_t clock_boot_ms(void);

/* Microseconds on CLOCK_MONOTONIC: for how long something took, and for time-outs
 * that end with the process. A test build does not shift it. */
int64_t clock_monotonic_us(void);

#endif
