/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Telling the service manager how a service is: sd_notify(3)'s protocol. */
#ifndef COMMON_NOTIFY_H
#define COMMON_NOTIFY_H

#include <stdint.h>

/* Without NOTIFY_SOCKET there is nobody to tell, and all of this does nothing. Spoken
 * here because the programs that need it are static, or confined before they are ready:
 * the socket is connected first, and what is sent later is a plain send(). Neither waits
 * nor fails: whoever does not listen is not told. */

/* Connects to the manager's socket; -1 if there is none. The caller owns it. */
int notify_open(void);

/* Sends "READY=1\nSTATUS=…" and the like. */
void notify_send(int fd, const char *state);

/* How often "WATCHDOG=1" is due, in milliseconds: half of what the manager waits. 0:
 * it does not wait. */
int64_t notify_watchdog_ms(void);

#endif
