// SPDX-License-Identifier: GPL-2.0-or-later
// Prints a table's kernel form: kform_dump FAMILY TABLE
// [inert|raw|decode|hooks|timed|all].
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "policy/kernel/kform.h"

#include <linux/netfilter.h>

static int report(const struct diag *diag)
{
	char line[1200];

	fprintf(stderr, "%s\n", diag_render(diag, line, sizeof(line)));
	return (int)diag_exit_status(diag);
}

static uint8_t family_of(const char *name)
{
	for (uint8_t family = 0; family < 16; family++)
		if (strcmp(kform_family_name(family), name) == 0)
			return family;
	return NFPROTO_INET;
}

static void print_hooks(const struct kform *form)
{
	for (size_t i = 0; i < form->chain_count; i++) {
		const struct kform_chain *chain = &form->chains[i];

		printf("%s %s", form->table, chain->name);
		if (chain->is_base)
			printf(" hook=%u priority=%d policy=%u type=%s", chain->hook,
			       chain->priority, chain->policy, chain->type);
		for (size_t d = 0; d < chain->device_count; d++)
			printf(" device=%s", chain->devices[d]);
		for (size_t u = 0; u < chain->use_count; u++)
			printf(" %s%s:%d", chain->uses[u].name,
			       chain->uses[u].is_write ? "!" : "",
			       chain->uses[u].has_key ? (int)chain->uses[u].key : -1);
		printf("\n");
	}
}

static void print_timed(const struct kform *form)
{
	for (size_t i = 0; i < form->timed_count; i++) {
		const struct kform_timed *timed = &form->timed[i];

		printf("%s ", timed->set);
		for (size_t b = 0; b < timed->key_size; b++)
			printf("%02x", timed->key[b]);
		if (timed->is_permanent)
			printf(" permanent\n");
		else
			printf(" timeout=%llu remaining=%llu\n",
			       (unsigned long long)timed->timeout_ms,
			       (unsigned long long)timed->remaining_ms);
	}
}

/* Messages on standard input, as "raw" printed them. */
static int decode(struct kform *form, struct diag *diag)
{
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_bytes) struct bytes bytes = {0};
	char piece[4096];
	size_t got;

	while ((got = fread(piece, 1, sizeof(piece), stdin)) > 0)
		buffer_add(&buffer, piece, got);
	if (buffer_take(&buffer, &bytes, diag) != 0)
		return -1;
	return kform_decode(&bytes, KFORM_USES, form, diag);
}

int main(int argc, char **argv)
{
	OWN(nfnl_close) struct nfnl nfnl = {0};
	OWN(kform_release) struct kform form = {0};
	OWN(kform_list_release) struct kform_list list = {0};
	OWN(own_bytes) struct bytes raw = {0};
	const char *mode = argc > 3 ? argv[3] : "";
	struct diag diag = {0};
	uint32_t generation;

	if (argc < 3 || nfnl_open(&nfnl, &diag) != 0)
		return 2;
	if (strcmp(mode, "raw") == 0) {
		if (kdump_table(&nfnl, family_of(argv[1]), argv[2], &raw, &generation,
				&diag) != 0)
			return report(&diag);
		return fwrite(raw.data, 1, raw.size, stdout) == raw.size ? 0 : 4;
	}
	if (strcmp(mode, "decode") == 0) {
		if (decode(&form, &diag) != 0)
			return report(&diag);
		fputs(form.text.data, stdout);
		return 0;
	}
	if (strcmp(mode, "all") == 0) {
		if (kform_read_all(&nfnl, argv[2], KFORM_FOREIGN | KFORM_USES, &list,
				   &diag) != 0)
			return report(&diag);
		for (size_t i = 0; i < list.count; i++) {
			fputs(list.forms[i].text.data, stdout);
			print_hooks(&list.forms[i]);
		}
		return 0;
	}
	if (kform_read(&nfnl, family_of(argv[1]), argv[2],
		       strcmp(mode, "inert") == 0 ? KFORM_WITHOUT_INERT : KFORM_USES,
		       &form, &diag) != 0)
		return report(&diag);
	if (strcmp(mode, "hooks") == 0)
		print_hooks(&form);
	else if (strcmp(mode, "timed") == 0)
		print_timed(&form);
	else
		fputs(form.text.data, stdout);
	return 0;
}
