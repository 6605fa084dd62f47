// SPDX-License-Identifier: GPL-2.0-or-later
// For tests: prints what foreign_read() finds, and how it is judged.
#include <stdio.h>
#include <string.h>

#include "common/own.h"
#include "policy/kernel/foreign.h"

/* foreign_show OWN_TABLE CGROUP_ROOT CGROUP [ACCEPTED...] */
int main(int argc, char **argv)
{
	OWN(foreign_release) struct foreign foreign = {0};
	const char *cgroups[] = {argc > 3 ? argv[3] : NULL, NULL};
	char accepted[16][DIGEST_TEXT_SIZE] = {{0}};
	char digest[DIGEST_TEXT_SIZE], line[1200];
	size_t accepted_count = 0;
	struct diag diag = {0};
	int error;

	if (argc < 4)
		return EXIT_STATUS_USAGE;
	for (int i = 4; i < argc && accepted_count < ARRAY_SIZE(accepted); i++)
		snprintf(accepted[accepted_count++], DIGEST_TEXT_SIZE, "%s", argv[i]);
	error = foreign_read(argv[1], argv[2], cgroups, &foreign, &diag);
	if (!error)
		error = foreign_digest(&foreign, digest, &diag);
	if (!error) {
		for (size_t i = 0; i < foreign.count; i++)
			printf("%s %s|%s\n", foreign.items[i].sha256,
			       foreign.items[i].name, foreign.items[i].harm);
		printf("digest %s\n", digest);
		error = foreign_judge(&foreign, (const char(*)[DIGEST_TEXT_SIZE])accepted,
				      accepted_count, &diag);
	}
	if (!error)
		return 0;
	fprintf(stderr, "%s: %s\n", diag_kind_name(diag.kind),
		diag_render(&diag, line, sizeof(line)));
	return (int)diag_exit_status(&diag);
}
