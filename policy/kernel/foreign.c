// SPDX-License-Identifier: GPL-2.0-or-later
// The rest of the host's rules: what is there, and whether it can defeat ours.
#include "policy/kernel/foreign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/own.h"

/* A host has a few dozen; this many is a fault or an attack on our memory. */
#define FOREIGN_ITEMS_MAX 65536

int foreign_add(struct foreign *foreign, const char *name, const void *form,
		size_t form_size, const char *harm, struct diag *diag)
{
	struct foreign_item *item, *grown;

	if (foreign->count == foreign->room) {
		size_t room = foreign->room ? 2 * foreign->room : 16;

		if (room > FOREIGN_ITEMS_MAX)
			return diag_fail(diag, E2BIG, name, "more than %d foreign rules",
					 FOREIGN_ITEMS_MAX);
		grown = reallocarray(foreign->items, room, sizeof(*grown));
		if (!grown)
			return diag_no_memory(diag);
		foreign->items = grown;
		foreign->room = room;
	}
	item = &foreign->items[foreign->count];
	*item = (struct foreign_item){0};
	snprintf(item->name, sizeof(item->name), "%s", name);
	snprintf(item->harm, sizeof(item->harm), "%s", harm ? harm : "");
	digest_bytes(form, form_size, item->sha256);
	foreign->count++;
	return 0;
}

void foreign_release(struct foreign *foreign)
{
	free(foreign->items);
	*foreign = (struct foreign){0};
}

static int compare_items(const void *left, const void *right)
{
	const struct foreign_item *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->sha256, b->sha256);
}

int foreign_read(const char *own_table, const char *cgroup_root,
		 const char *const *cgroups, struct foreign *ret_foreign,
		 struct diag *diag)
{
	OWN(foreign_release) struct foreign foreign = {0};
	int error = foreign_read_tables(own_table, &foreign, diag);

	if (!error)
		error = foreign_read_legacy(&foreign, diag);
	if (!error)
		error = foreign_read_routing(&foreign, diag);
	if (!error)
		error = foreign_read_devices(&foreign, diag);
	if (!error)
		error = foreign_read_bpf(cgroup_root, cgroups, &foreign, diag);
	if (error)
		return error;
	if (foreign.count)
		qsort(foreign.items, foreign.count, sizeof(*foreign.items),
		      compare_items);
	*ret_foreign = foreign;
	foreign = (struct foreign){0};
	return 0;
}

static bool is_accepted(const struct foreign_item *item,
			const char accepted[][DIGEST_TEXT_SIZE], size_t accepted_count)
{
	for (size_t i = 0; item->is_table && i < accepted_count; i++)
		if (strcmp(item->sha256, accepted[i]) == 0)
			return true;
	return false;
}

int foreign_judge(const struct foreign *foreign, const char accepted[][DIGEST_TEXT_SIZE],
		  size_t accepted_count, struct diag *diag)
{
	for (size_t i = 0; i < foreign->count; i++) {
		const struct foreign_item *item = &foreign->items[i];

		if (!item->harm[0] || is_accepted(item, accepted, accepted_count))
			continue;
		if (item->is_table)
			return diag_refuse(diag, item->name,
					   "%s: remove it, or list %s in the site's "
					   "foreign_accepted",
					   item->harm, item->sha256);
		return diag_refuse(diag, item->name, "%s: remove it", item->harm);
	}
	return 0;
}

int foreign_digest(const struct foreign *foreign, char ret_sha256[DIGEST_TEXT_SIZE],
		   struct diag *diag)
{
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_bytes) struct bytes text = {0};
	int error;

	for (size_t i = 0; i < foreign->count; i++)
		buffer_print(&buffer, "%s %s\n", foreign->items[i].sha256,
			     foreign->items[i].name);
	error = buffer_take(&buffer, &text, diag);
	if (error)
		return error;
	digest_bytes(text.data, text.size, ret_sha256);
	return 0;
}
