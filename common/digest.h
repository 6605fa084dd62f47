/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 and HMAC-SHA-256 as 64 lower-case hexadecimal digits. */
#ifndef COMMON_DIGEST_H
#define COMMON_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/diag.h"

#define DIGEST_SIZE 32                         /* FIPS 180-4, SHA-256 */
#define DIGEST_TEXT_SIZE (2 * DIGEST_SIZE + 1) /* digits and a NUL */

/* Digest of `size` bytes. Cannot fail. */
void digest_bytes(const void *data, size_t size, char ret_text[DIGEST_TEXT_SIZE]);

/* HMAC-SHA-256 (RFC 2104) of `size` bytes under a key of 32 bytes. */
void digest_hmac(const uint8_t key[DIGEST_SIZE], const void *data, size_t size,
		 char ret_text[DIGEST_TEXT_SIZE]);

/* Digest of what `fd` holds from its start, read with pread() in pieces; the
 * descriptor's offset does not move. More than `limit` bytes is a refusal, a
 * read error "could not tell". `place` names it. */
int digest_fd(int fd, uint64_t limit, const char *place, char ret_text[DIGEST_TEXT_SIZE],
	      struct diag *diag);

/* Whether `text` is exactly 64 lower-case hexadecimal digits. */
bool digest_is_text(const char *text);

/* The 32 bytes that 64 lower-case hexadecimal digits name. Returns 0 or
 * -EINVAL, and then `ret_bytes` is unchanged. */
int digest_parse_text(const char *text, uint8_t ret_bytes[DIGEST_SIZE]);

/* `size` bytes as lower-case hexadecimal; `ret_text` has 2 * size + 1 bytes. */
void digest_format_hex(const uint8_t *bytes, size_t size, char *ret_text);

#endif
