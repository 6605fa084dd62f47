/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proxy's one listening socket: opened, or taken from a service manager. */
#ifndef PROXY_LISTENER_H
#define PROXY_LISTENER_H

#include <stdint.h>

#include "common/diag.h"

#define LISTENER_PASSED_FD 3 /* SD_LISTEN_FDS_START: sd_listen_fds(3) */

/* Opens a listener on a canonical literal address, with buffers so small that
 * what thousands of connections send takes little memory. An address that cannot
 * be had is a refusal. The caller owns `*ret_fd` (non-blocking, close-on-exec). */
int listener_open(const char *address, uint16_t port, int *ret_fd, struct diag *diag);

/* Takes over the socket a service manager passed as LISTENER_PASSED_FD: it must
 * be a TCP socket that listens on exactly this address and port. */
int listener_adopt(const char *address, uint16_t port, int *ret_fd, struct diag *diag);

#endif
