// SPDX-License-Identifier: GPL-2.0-or-later
// Other people's nf_tables, of every family: what their rules can do to ours.
#include "policy/kernel/foreign.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <linux/netfilter.h>
#include <linux/netfilter_bridge.h>

#include "common/own.h"
#include "policy/kernel/kform.h"

/*
 * A rule is harmless if all its expressions are in the closed lists below: they
 * look at a packet, count it, or end its way. What is judged is every chain that
 * a packet of ours may meet: base chains on any hook but forwarding (our packets
 * begin or end on this host), and, in a table that has one, all its other chains,
 * whoever jumps to them.
 */

/* They read packets, keep books, or give a verdict: net/netfilter/nft_*.c. `log`
 * may copy to a daemon of root's, who is trusted; nothing of it leaves the host. */
static const char *const harmless[] = {
	"bitwise", "byteorder", "cmp",       "connlimit", "counter", "dynset",
	"fib",     "hash",      "immediate", "inner",     "last",    "limit",
	"log",     "lookup",    "numgen",    "osf",       "quota",   "range",
	"reject",  "rt",        "socket",    "xfrm",
};

/* Harmless as long as they only read. */
static const char *const harmless_reading[] = {"ct", "exthdr", "meta", "payload"};

/* NFT_OBJECT_COUNTER, _QUOTA, _LIMIT and _CONNLIMIT of linux/netfilter/nf_tables.h:
 * objects that a rule may refer to without more than counting. */
static const char *const harmless_objects[] = {" type=1 ", " type=2 ", " type=4 ",
					       " type=5 "};

static bool is_in(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

/* Of a line "object NAME type=N ...". A name that the form had to quote is not
 * looked into: what stands in quotes is somebody else's text. */
static bool is_harmless_object(const char *line)
{
	const char *name = line + strlen("object "), *after = name + strcspn(name, " ");

	for (size_t i = 0; *name != '"' && i < ARRAY_SIZE(harmless_objects); i++)
		if (strncmp(after, harmless_objects[i], strlen(harmless_objects[i])) == 0)
			return true;
	return false;
}

static bool has_harmless_objects(const struct kform *form)
{
	for (size_t i = 0; i < form->line_count; i++)
		if (form->lines[i].kind == KFORM_OBJECT &&
		    !is_harmless_object(form->text.data + form->lines[i].offset))
			return false;
	return true;
}

static bool is_harmless(const struct kform *form, const struct kform_use *use)
{
	if (is_in(use->name, harmless, ARRAY_SIZE(harmless)))
		return true;
	if (is_in(use->name, harmless_reading, ARRAY_SIZE(harmless_reading)))
		return !use->is_write;
	return strcmp(use->name, "objref") == 0 && has_harmless_objects(form);
}

/* Whether packets that begin or end on this host pass the hook. */
static bool is_passed(const struct kform *form, const struct kform_chain *chain)
{
	if (!chain->is_base)
		return false;
	switch (form->family) {
	case NFPROTO_INET:
	case NFPROTO_IPV4:
	case NFPROTO_IPV6:
		return chain->hook != NF_INET_FORWARD;
	case NFPROTO_BRIDGE:
		return chain->hook != NF_BR_FORWARD;
	default: /* netdev, arp, and what we do not know */
		return true;
	}
}

static void judge_table(const struct kform *form, char harm[FOREIGN_HARM_SIZE])
{
	bool is_met = false;

	harm[0] = '\0';
	for (size_t i = 0; i < form->chain_count; i++)
		is_met |= is_passed(form, &form->chains[i]);
	for (size_t i = 0; is_met && i < form->chain_count; i++) {
		const struct kform_chain *chain = &form->chains[i];

		if (chain->is_base && !is_passed(form, chain))
			continue;
		for (size_t k = 0; k < chain->use_count; k++) {
			const struct kform_use *use = &chain->uses[k];

			if (is_harmless(form, use))
				continue;
			snprintf(harm, FOREIGN_HARM_SIZE,
				 "\"%s%s\" in chain %.100s is not known to leave our "
				 "packets "
				 "alone",
				 use->name, use->is_write ? " set" : "", chain->name);
			return;
		}
	}
}

static int add_table(const struct kform *form, struct foreign *foreign, struct diag *diag)
{
	char name[FOREIGN_NAME_SIZE], harm[FOREIGN_HARM_SIZE];
	int error;

	judge_table(form, harm);
	snprintf(name, sizeof(name), "nf_tables %s %s", kform_family_name(form->family),
		 form->table);
	error = foreign_add(foreign, name, form->text.data, form->text.size, harm, diag);
	if (error)
		return error;
	foreign->items[foreign->count - 1].is_table = true;
	return 0;
}

int foreign_read_tables(const char *own_table, struct foreign *foreign, struct diag *diag)
{
	OWN(kform_list_release) struct kform_list list = {0};
	OWN(nfnl_close) struct nfnl nfnl = {0};
	int error = nfnl_open(&nfnl, diag);

	if (!error)
		error = kform_read_all(&nfnl, own_table, KFORM_FOREIGN | KFORM_USES,
				       &list, diag);
	for (size_t i = 0; !error && i < list.count; i++)
		error = add_table(&list.forms[i], foreign, diag);
	return error;
}
