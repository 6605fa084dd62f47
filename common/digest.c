// SPDX-License-Identifier: GPL-2.0-or-later
// SHA-256 and HMAC-SHA-256 as 64 lower-case hexadecimal digits.
#include "common/digest.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <nettle/hmac.h>
#include <nettle/sha2.h>

#include "common/own.h"

_Static_assert(DIGEST_SIZE == SHA256_DIGEST_SIZE, "SHA-256 is 32 bytes");

/* Large enough to amortise the call, small enough for an agent's memory. */
#define DIGEST_READ_SIZE ((size_t)64 * 1024)

void digest_format_hex(const uint8_t *bytes, size_t size, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		ret_text[2 * i] = digits[bytes[i] >> 4];
		ret_text[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_text[2 * size] = '\0';
}

void digest_bytes(const void *data, size_t size, char ret_text[DIGEST_TEXT_SIZE])
{
	uint8_t digest[DIGEST_SIZE];
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, size, data);
	sha256_digest(&context, sizeof(digest), digest);
	digest_format_hex(digest, sizeof(digest), ret_text);
}

void digest_hmac(const uint8_t key[DIGEST_SIZE], const void *data, size_t size,
		 char ret_text[DIGEST_TEXT_SIZE])
{
	struct hmac_sha256_ctx context;
	uint8_t digest[DIGEST_SIZE];

	hmac_sha256_set_key(&context, DIGEST_SIZE, key);
	hmac_sha256_update(&context, size, data);
	hmac_sha256_digest(&context, sizeof(digest), digest);
	digest_format_hex(digest, sizeof(digest), ret_text);
	explicit_bzero(&context, sizeof(context));
}

int digest_fd(int fd, uint64_t limit, const char *place, char ret_text[DIGEST_TEXT_SIZE],
	      struct diag *diag)
{
	OWN(own_pointer) uint8_t *piece = malloc(DIGEST_READ_SIZE);
	uint8_t digest[DIGEST_SIZE];
	struct sha256_ctx context;
	uint64_t total = 0;
	ssize_t got;

	if (!piece)
		return diag_no_memory(diag);
	sha256_init(&context);
	for (;;) {
		got = pread(fd, piece, DIGEST_READ_SIZE, (off_t)total);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return diag_fail(diag, errno, place, "cannot be read");
		if (got == 0)
			break;
		total += (uint64_t)got;
		if (total > limit)
			return diag_refuse(diag, place, "larger than %llu bytes",
					   (unsigned long long)limit);
		sha256_update(&context, (size_t)got, piece);
	}
	sha256_digest(&context, sizeof(digest), digest);
	digest_format_hex(digest, sizeof(digest), ret_text);
	return 0;
}

static int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return -1;
}

int digest_parse_text(const char *text, uint8_t ret_bytes[DIGEST_SIZE])
{
	uint8_t bytes[DIGEST_SIZE];

	for (size_t i = 0; i < sizeof(bytes); i++) {
		int high = hex_value(text[2 * i]);
		int low = high < 0 ? -1 : hex_value(text[2 * i + 1]);

		if (low < 0)
			return -EINVAL;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	if (text[2 * sizeof(bytes)])
		return -EINVAL;
	memcpy(ret_bytes, bytes, sizeof(bytes));
	return 0;
}

bool digest_is_text(const char *text)
{
	uint8_t bytes[DIGEST_SIZE];

	return digest_parse_text(text, bytes) == 0;
}
