// SPDX-License-Identifier: GPL-2.0-or-later
// Loads the guard as revoke does: guard_load TABLE FIRST-LAST...
#include <stdio.h>

#include "common/own.h"
#include "policy/kernel/guard.h"

int main(int argc, char **argv)
{
	struct subjects subjects = {0};
	struct diag diag = {0};
	char line[1200];

	for (int i = 2; i < argc; i++) {
		unsigned int first, last;

		if (sscanf(argv[i], "%u-%u", &first, &last) != 2 ||
		    subjects_add(&subjects, first, last, &diag) != 0)
			return 2;
	}
	if (argc < 3 || guard_load(argv[1], &subjects, &diag) == 0)
		return argc < 3 ? 2 : 0;
	fprintf(stderr, "%s\n", diag_render(&diag, line, sizeof(line)));
	return (int)diag_exit_status(&diag);
}
