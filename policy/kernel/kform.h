/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table in the kernel's own form: one line for each object, one form for one
 * content. */
#ifndef POLICY_KERNEL_KFORM_H
#define POLICY_KERNEL_KFORM_H

#include <stdbool.h>

#include "common/digest.h"
#include "policy/kernel/kdump.h"

/*
 * Theory of operation
 *
 * kdump gives the kernel's messages for one table; kform_decode() turns them, and
 * nothing else, into the form. It is pure: the same messages give the same form
 * anywhere, and it is what the fuzzer feeds.
 *
 * Every attribute is written as the kernel gave it, in its order, except what
 * moves by itself or says nothing about what packets meet: handles, positions, use
 * counts, element counts, the set backend's name, counters, quotas used up, expiry
 * times left, generations, and user data (comments, and whatever the library that
 * loaded it noted down). An attribute or expression we do not know stays, as bytes:
 * it may make two forms differ that are the same, never the reverse.
 *
 * The lines are, in this order: the table; objects by type and name; flowtables by
 * name; sets by name, each followed by its elements, sorted; chains by name, each
 * followed by its rules in their order. Anonymous sets and chains come after those
 * with names, numbered by who refers to them first (`__set0`, `__map1`, `__chain0`).
 *
 * One thing is added that no attribute says: `older`, how many base chains of the
 * table with the same hook and priority were made before this one; among such, the
 * kernel runs the youngest first.
 *
 * Elements of sets with time-outs (flag "timeout") are not in the form: packets and
 * time change them without a commit. They are given apart, as `timed`.
 *
 *   table inet netproof flags=0x00000000
 *   set subjects flags=0x00000006 key_type=24 key_length=4 ...
 *   element subjects key=000003e8
 *   chain output hook(number=3 priority=-310) policy=1 type=filter flags=0x00000001
 *   rule output meta(key=10 dreg=1) ... counter() reject(type=2 code=3)
 */

/* NFPROTO_INET of linux/netfilter.h, which does not go together with netinet/in.h. */
#define KFORM_INET 1

enum kform_kind {
	KFORM_TABLE,
	KFORM_OBJECT,
	KFORM_FLOWTABLE,
	KFORM_SET,
	KFORM_ELEMENT,
	KFORM_CHAIN,
	KFORM_RULE,
};

/* One line of the form, without its newline. */
struct kform_line {
	enum kform_kind kind;
	size_t offset, size; /* in `text` */
	const char *owner;   /* the kernel's name of the set or chain it is or is in */
	uint64_t handle;     /* of a rule, else 0 */
};

/* An expression that a chain's rules use. */
struct kform_use {
	const char *name;
	bool is_write; /* meta, ct, payload, exthdr: sets rather than reads */
	bool has_key;  /* meta, ct, socket, rt: `key` */
	uint32_t key;
};

struct kform_chain {
	const char *name;
	bool is_base;
	uint32_t hook; /* NF_INET_..., NF_NETDEV_..., ... by family; base chains only */
	int32_t priority;
	uint32_t policy; /* NF_ACCEPT or NF_DROP */
	const char *type;
	const char **devices; /* of netdev and inet ingress chains */
	size_t device_count;
	size_t rule_count;
	/* Each that occurs in its rules, once: inside set updates too. */
	struct kform_use *uses;
	size_t use_count;
};

#define KFORM_KEY_MAX 64 /* NFT_DATA_VALUE_MAXLEN */

/* An element of a set with time-outs. */
struct kform_timed {
	const char *set;
	uint8_t key[KFORM_KEY_MAX]; /* as in the kernel's register */
	size_t key_size;
	bool is_permanent;     /* it has no expiry */
	bool has_more;         /* flags, data, an end of range, an object: see the line */
	uint64_t timeout_ms;   /* given at its making; 0: the set's own */
	uint64_t remaining_ms; /* when it was dumped */
};

enum kform_options {
	/* Leave out what a flush leaves behind and no packet can meet: a regular
	 * chain without rules that nothing jumps to, a base chain "type filter,
	 * policy accept" without rules or anything more, a named set without
	 * elements that nothing refers to. */
	KFORM_WITHOUT_INERT = 1 << 0,
	/* Somebody else's table: elements of dynamic sets come and go too. */
	KFORM_FOREIGN = 1 << 1,
	/* Fill `uses` of the chains. */
	KFORM_USES = 1 << 2,
};

/* A set or chain that was left out of the form. */
struct kform_inert {
	enum kform_kind kind; /* KFORM_SET or KFORM_CHAIN */
	const char *name;
};

struct kform {
	uint8_t family;
	const char *table;
	bool is_present; /* there is such a table; else everything is empty */
	uint32_t table_flags;
	uint32_t generation; /* of the dump; not part of the form */
	struct bytes text;   /* the form: its lines, each with a newline */
	struct kform_line *lines;
	size_t line_count;
	struct kform_chain *chains; /* in the form's order */
	size_t chain_count;
	struct kform_timed *timed; /* by set, then key */
	size_t timed_count;
	struct kform_inert *inert; /* with KFORM_WITHOUT_INERT */
	size_t inert_count;
	struct bytes messages; /* what the names point into */
};

/* Turns the messages of one table, which it takes, into its form. Messages that
 * are not as the kernel makes them are "could not tell". The caller owns
 * `*ret_form`. */
int kform_decode(struct bytes *messages, unsigned int options, struct kform *ret_form,
		 struct diag *diag);

/* Dumps a table of `family` (NFPROTO_INET, ...) and decodes it. */
int kform_read(struct nfnl *nfnl, uint8_t family, const char *table, unsigned int options,
	       struct kform *ret_form, struct diag *diag);

/* The forms of all tables, of one generation, in the kernel's order. */
struct kform_list {
	struct kform *forms;
	size_t count;
	uint32_t generation;
};

/* All tables but `except` of family inet (NULL: really all). */
int kform_read_all(struct nfnl *nfnl, const char *except, unsigned int options,
		   struct kform_list *ret_list, struct diag *diag);

void kform_release(struct kform *form);
void kform_list_release(struct kform_list *list);

/* SHA-256 of the form's text. */
void kform_digest(const struct kform *form, char ret_text[DIGEST_TEXT_SIZE]);

/* "inet", "ip", ...; a number for one we do not know. */
const char *kform_family_name(uint8_t family);

#endif
