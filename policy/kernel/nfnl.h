/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nf_tables over netlink: one socket, batches, and dumps that are whole. */
#ifndef POLICY_KERNEL_NFNL_H
#define POLICY_KERNEL_NFNL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include "common/diag.h"
#include "common/own.h"
#include "policy/kernel/attribute.h"

/*
 * Theory of operation
 *
 * A socket speaks to the nf_tables of the network namespace it was opened in,
 * and keeps doing so. The kernel answers from within the send, so nothing here
 * waits for long; a receive that does not come is an error, not a hang.
 *
 * A batch is built in a buffer of the caller's. Every put is checked against its
 * end; a batch that did not fit is refused when it is sent. It has been committed
 * exactly when every message was acknowledged.
 *
 * A dump hands each message to the caller as it comes, and says at its end
 * whether the kernel called it interrupted. That, and the generation before and
 * after, is what tells a whole dump from one of two rulesets: kdump.h.
 */

struct nfnl {
	struct mnl_socket *socket;
	uint32_t port, sequence;
	char *buffer; /* for receiving; NFNL_RECEIVE_SIZE bytes */
};

/* The kernel fills up to 32 KiB a message when the reader asks for as much
 * (netlink_dump()): fewer restarts, each of which walks a chain from its head. */
#define NFNL_RECEIVE_SIZE 65536

/* `*nfnl` starts as all zero, and is released with nfnl_close(). */
int nfnl_open(struct nfnl *nfnl, struct diag *diag);
void nfnl_close(struct nfnl *nfnl);

/* The generation of the ruleset: another after every commit. */
int nfnl_generation(struct nfnl *nfnl, uint32_t *ret_generation, struct diag *diag);

/* What a dump or a get asks for: an NFT_MSG_GET... with up to two strings. */
struct nfnl_query {
	uint8_t type;
	uint8_t family; /* NFPROTO_... */
	bool is_single; /* one object by name, not a dump */
	struct {
		uint16_t type; /* 0: none */
		const char *value;
	} names[2];
};

/* Called for each message; anything but 0 ends the dump with that value. */
typedef int nfnl_on_message(const struct nlmsghdr *message, void *context);

/* The attributes of a message of nf_tables. */
struct attributes nfnl_attributes(const struct nlmsghdr *message);

/* `*ret_is_interrupted`: the ruleset changed meanwhile. `*ret_error`: the
 * kernel's own answer as a positive errno (ENOENT: no such object), else 0. A
 * failure to ask is reported in `diag`. What on_message() returned comes back as
 * it was; it has then said why, if it wants to. */
int nfnl_ask(struct nfnl *nfnl, const struct nfnl_query *query,
	     nfnl_on_message *on_message, void *context, bool *ret_is_interrupted,
	     int *ret_error, struct diag *diag);

/* A batch under construction. */
struct nfnl_batch {
	char *buffer;
	size_t size, used;
	struct nlmsghdr *message; /* the one being filled */
	uint32_t sequence;        /* of the next message */
	unsigned int to_acknowledge;
	bool is_full;
};

/* Starts a batch in `buffer`, which stays the caller's. */
void nfnl_batch_start(struct nfnl_batch *batch, struct nfnl *nfnl, void *buffer,
		      size_t size);

/* Starts an NFT_MSG_... of `family`; `flags` are NLM_F_... beside request and
 * acknowledge. */
void nfnl_batch_add(struct nfnl_batch *batch, uint8_t type, uint8_t family,
		    uint16_t flags);

/* Attributes of the message being filled; numbers in network order. */
void nfnl_put_u8(struct nfnl_batch *batch, uint16_t type, uint8_t value);
void nfnl_put_u32(struct nfnl_batch *batch, uint16_t type, uint32_t value);
void nfnl_put_bytes(struct nfnl_batch *batch, uint16_t type, const void *data,
		    size_t size);
void nfnl_put_string(struct nfnl_batch *batch, uint16_t type, const char *value);

/* Opens and closes a nested attribute. */
struct nlattr *nfnl_nest(struct nfnl_batch *batch, uint16_t type);
void nfnl_nest_end(struct nfnl_batch *batch, struct nlattr *nest);

/* Sends it as one transaction. Returns 0 once it is committed; the errno of the
 * first message that the kernel refused, or of the commit, is returned negative
 * and reported with `place`. Nothing has changed then. */
int nfnl_batch_commit(struct nfnl_batch *batch, struct nfnl *nfnl, const char *place,
		      struct diag *diag);

#endif
