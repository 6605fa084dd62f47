// SPDX-License-Identifier: GPL-2.0-or-later
// common/digest: published vectors, descriptors, and hexadecimal text.
#include "tests/unit/unit.h"

#include <sys/mman.h>

#include "common/digest.h"

/* FIPS 180-4's examples and the empty message. */
static void sha256_vectors(void **state)
{
	static const struct {
		const char *text, *digest;
	} cases[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc",
		 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char digest[DIGEST_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		digest_bytes(cases[i].text, strlen(cases[i].text), digest);
		assert_string_equal(digest, cases[i].digest);
	}
}

/* RFC 4231, test case 1: its key of 20 bytes, padded with zeros as HMAC itself
 * pads it, gives the same code. */
static void hmac_vector(void **state)
{
	uint8_t key[DIGEST_SIZE] = {0};
	char code[DIGEST_TEXT_SIZE];

	(void)state;
	memset(key, 0x0b, 20);
	digest_hmac(key, "Hi There", 8, code);
	assert_string_equal(
		code, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

static int make_file(const void *data, size_t size)
{
	int fd = memfd_create("digest", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

static void a_descriptor_is_read_from_its_start(void **state)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 200000};
	OWN(own_pointer) char *data = malloc(200000);

	(void)state;
	for (size_t i = 0; i < 200000; i++)
		data[i] = (char)(i * 7 + i / 251);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		OWN(own_fd) int fd = make_file(data, sizes[i]);
		char digest[DIGEST_TEXT_SIZE], expected[DIGEST_TEXT_SIZE];
		off_t before = lseek(fd, (off_t)sizes[i] / 2, SEEK_SET);
		struct diag diag = {0};

		digest_bytes(data, sizes[i], expected);
		assert_int_equal(digest_fd(fd, sizes[i], "f", digest, &diag), 0);
		assert_string_equal(digest, expected);
		assert_int_equal(lseek(fd, 0, SEEK_CUR), before);
	}
}

static void too_much_is_refused(void **state)
{
	OWN(own_fd) int fd = make_file("1234567", 7);
	char digest[DIGEST_TEXT_SIZE] = "as before";
	struct diag diag = {0};

	(void)state;
	assert_int_equal(digest_fd(fd, 6, "the file", digest, &diag), -EINVAL);
	assert_refused(diag, "the file: larger than 6 bytes");
	assert_string_equal(digest, "as before");
}

static void what_cannot_be_read_is_not_decided(void **state)
{
	char digest[DIGEST_TEXT_SIZE] = "as before";
	struct diag diag = {0}, closed = {0};
	int pipe_ends[2];

	(void)state;
	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(digest_fd(pipe_ends[0], 9, "pipe", digest, &diag), -ESPIPE);
	assert_int_equal(diag.kind, DIAG_UNDECIDED);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	assert_int_equal(digest_fd(-1, 9, "none", digest, &closed), -EBADF);
	assert_string_equal(digest, "as before");
}

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"

static void text_is_64_lower_case_digits(void **state)
{
	uint8_t bytes[DIGEST_SIZE], before[DIGEST_SIZE];
	char text[DIGEST_TEXT_SIZE];

	(void)state;
	assert_int_equal(digest_parse_text(DIGITS "f", bytes), 0);
	assert_int_equal(bytes[0], 0x01);
	assert_int_equal(bytes[31], 0xef);
	digest_format_hex(bytes, sizeof(bytes), text);
	assert_string_equal(text, DIGITS "f");
	assert_true(digest_is_text(text));
	memcpy(before, bytes, sizeof(before));
	for (size_t length = 0; length < 64; length++) {
		text[length] = '\0';
		assert_int_equal(digest_parse_text(text, bytes), -EINVAL);
		text[length] = (DIGITS "f")[length];
	}
	for (int letter = 1; letter < 256; letter++) {
		bool is_digit = (letter >= '0' && letter <= '9') ||
				(letter >= 'a' && letter <= 'f');

		text[63] = (char)letter;
		assert_int_equal(digest_is_text(text), is_digit);
	}
	assert_false(digest_is_text(DIGITS "f0"));
	assert_memory_equal(before, bytes, sizeof(bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sha256_vectors),
		cmocka_unit_test(hmac_vector),
		cmocka_unit_test(a_descriptor_is_read_from_its_start),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(what_cannot_be_read_is_not_decided),
		cmocka_unit_test(text_is_64_lower_case_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
