// SPDX-License-Identifier: GPL-2.0-or-later
// Compares a live table with nft text: compare_text TABLE FILE. Exits 0, 3 or 4.
#include <fcntl.h>
#include <stdio.h>

#include "common/own.h"
#include "common/protected.h"
#include "policy/kernel/compare.h"

#define LIMIT (64UL << 20)

int main(int argc, char **argv)
{
	OWN(comparison_release) struct comparison comparison = {0};
	OWN(own_bytes) struct bytes text = {0};
	OWN(own_fd) int fd = -1;
	struct compare_request request = {0};
	struct diag diag = {0};
	char line[1200];

	if (argc != 3)
		return EXIT_STATUS_USAGE;
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || protected_read_fd(fd, LIMIT, argv[2], &text, &diag) != 0)
		return EXIT_STATUS_USAGE;
	request.table = argv[1];
	request.text = text.data;
	if (compare_table(&request, &comparison, &diag) != 0) {
		fprintf(stderr, "%s\n", diag_render(&diag, line, sizeof(line)));
		return (int)diag_exit_status(&diag);
	}
	fputs(comparison.report.data, stdout);
	return comparison.is_equal ? EXIT_STATUS_OK : EXIT_STATUS_DIFFERENT;
}
