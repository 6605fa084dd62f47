// SPDX-License-Identifier: GPL-2.0-or-later
// Prints a table's listing, made chain by chain: list_table TABLE [RULES_MIN]. Exits 3
// if it is one to be listed as a whole.
#include <stdio.h>
#include <stdlib.h>

#include <linux/netfilter.h>

#include "policy/kernel/chainwise.h"
#include "policy/kernel/kdump.h"

int main(int argc, char **argv)
{
	OWN(own_bytes) struct bytes messages = {0}, listing = {0};
	OWN(nfnl_close) struct nfnl nfnl = {0};
	struct diag diag = {0};
	uint32_t generation;
	char line[1200];
	int error;

	if (argc < 2)
		return EXIT_STATUS_USAGE;
	error = nfnl_open(&nfnl, &diag);
	if (!error)
		error = kdump_table(&nfnl, NFPROTO_INET, argv[1], &messages, &generation,
				    &diag);
	if (!error)
		error = chainwise_list(argv[1], &messages,
				       argc > 2 ? strtoul(argv[2], NULL, 10) : 0,
				       &listing, &diag);
	if (error) {
		fprintf(stderr, "%s\n", diag_render(&diag, line, sizeof(line)));
		return (int)diag_exit_status(&diag);
	}
	if (!listing.data)
		return EXIT_STATUS_DIFFERENT;
	fwrite(listing.data, 1, listing.size, stdout);
	return EXIT_STATUS_OK;
}
