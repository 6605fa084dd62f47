// SPDX-License-Identifier: GPL-2.0-or-later
// Answers documents with common/json's verdict: canonical bytes, or the refusal.
//
// In: a length (4 bytes, big endian) and the document, until end of file. Out, for
// each: the same framing around 'A' and canonical bytes, or 'R' and the message.
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "common/canonical.h"
#include "common/json.h"

#define LIMIT (1024 * 1024)

static int answer(char verdict, const void *data, size_t size)
{
	uint32_t length = htonl((uint32_t)size + 1);

	return fwrite(&length, sizeof(length), 1, stdout) == 1 && putchar(verdict) >= 0 &&
			       fwrite(data, 1, size, stdout) == size
		       ? 0
		       : -1;
}

static int judge(const char *document, size_t size)
{
	OWN(own_json) json_t *root = NULL;
	OWN(own_bytes) struct bytes bytes = {0};
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	struct diag diag = {0};
	int error = json_parse(document, size, LIMIT, "doc", &root, &diag);

	if (!error)
		error = canonical_write(root, &bytes, &diag);
	if (error && diag.kind != DIAG_REFUSED)
		return -1;
	if (!error)
		return answer('A', bytes.data, bytes.size);
	diag_render(&diag, line, sizeof(line));
	return answer('R', line, strlen(line));
}

int main(void)
{
	uint32_t length;

	while (fread(&length, sizeof(length), 1, stdin) == 1) {
		OWN(own_pointer) char *document = malloc(ntohl(length) + 1);

		if (!document || ntohl(length) > LIMIT ||
		    fread(document, 1, ntohl(length), stdin) != ntohl(length) ||
		    judge(document, ntohl(length)) != 0)
			return 1;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
