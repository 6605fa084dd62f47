// SPDX-License-Identifier: GPL-2.0-or-later
// nf_tables over netlink: one socket, batches, and dumps that are whole.
#include "policy/kernel/nfnl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

/* An answer comes from within the send; ten seconds without one is a fault. */
#define NFNL_RECEIVE_SECONDS 10

/* Of the answers to a batch: one acknowledgement each, never more than a few. */
#define NFNL_SOCKET_BUFFER (1024 * 1024)

int nfnl_open(struct nfnl *nfnl, struct diag *diag)
{
	struct timeval wait = {.tv_sec = NFNL_RECEIVE_SECONDS};
	int size = NFNL_SOCKET_BUFFER, fd;

	nfnl->buffer = malloc(NFNL_RECEIVE_SIZE);
	if (!nfnl->buffer)
		return diag_no_memory(diag);
	nfnl->socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	if (!nfnl->socket || mnl_socket_bind(nfnl->socket, 0, MNL_SOCKET_AUTOPID) < 0) {
		int error = errno;

		nfnl_close(nfnl);
		return diag_fail(diag, error, "nf_tables", "no netlink socket");
	}
	fd = mnl_socket_get_fd(nfnl->socket);
	/* A smaller buffer than wished for only means ENOBUFS, which is reported. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0) {
		int error = errno;

		nfnl_close(nfnl);
		return diag_fail(diag, error, "nf_tables", "no time limit");
	}
	nfnl->port = mnl_socket_get_portid(nfnl->socket);
	nfnl->sequence = 1;
	return 0;
}

void nfnl_close(struct nfnl *nfnl)
{
	if (nfnl->socket)
		mnl_socket_close(nfnl->socket);
	free(nfnl->buffer);
	*nfnl = (struct nfnl){0};
}

static struct nlmsghdr *put_header(void *buffer, uint16_t type, uint16_t flags,
				   uint8_t family, uint16_t resource, uint32_t sequence)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct nfgenmsg *generic;

	message->nlmsg_type = type;
	message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	message->nlmsg_seq = sequence;
	generic = mnl_nlmsg_put_extra_header(message, sizeof(*generic));
	generic->nfgen_family = family;
	generic->version = NFNETLINK_V0;
	generic->res_id = htons(resource);
	return message;
}

static uint16_t table_type(uint8_t type)
{
	return (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type);
}

/* Receives once. Returns the size, or -errno with the cause recorded. */
static ssize_t receive(struct nfnl *nfnl, struct diag *diag)
{
	ssize_t size;

	do
		size = mnl_socket_recvfrom(nfnl->socket, nfnl->buffer, NFNL_RECEIVE_SIZE);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return diag_fail(diag, errno, "nf_tables", "no answer from the kernel");
	if (size == 0)
		return diag_fail(diag, 0, "nf_tables", "the kernel closed the socket");
	return size;
}

struct attributes nfnl_attributes(const struct nlmsghdr *message)
{
	size_t headers = ATTRIBUTE_ALIGN(sizeof(*message)) +
			 ATTRIBUTE_ALIGN(sizeof(struct nfgenmsg));

	if (message->nlmsg_len < headers)
		return (struct attributes){0};
	return (struct attributes){(const uint8_t *)message + headers,
				   message->nlmsg_len - headers};
}

/* --- asking -------------------------------------------------------------------- */

struct answer {
	nfnl_on_message *on_message;
	void *context;
	uint32_t sequence;
	bool is_interrupted, is_done, is_single;
	int error; /* the kernel's, positive */
	int stop;  /* on_message's */
};

/* The errno in an NLMSG_ERROR, or in an NLMSG_DONE of a dump that failed. */
static int error_of(const struct nlmsghdr *message)
{
	int error;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(error))
		return message->nlmsg_type == NLMSG_DONE ? 0 : EBADMSG;
	memcpy(&error, mnl_nlmsg_get_payload(message), sizeof(error));
	return -error;
}

static void take_message(struct answer *answer, const struct nlmsghdr *message)
{
	if (message->nlmsg_seq != answer->sequence)
		return; /* of an earlier question that was given up */
	if (message->nlmsg_flags & NLM_F_DUMP_INTR)
		answer->is_interrupted = true;
	if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) {
		answer->is_done = true;
		answer->error = error_of(message);
		return;
	}
	if (message->nlmsg_type == NLMSG_NOOP)
		return;
	if (message->nlmsg_type < NLMSG_MIN_TYPE ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(struct nfgenmsg)) {
		answer->is_done = true;
		answer->error = EBADMSG;
		return;
	}
	if (!answer->stop)
		answer->stop = answer->on_message(message, answer->context);
	/* The kernel ends a single answer with an acknowledgement, asked for
	 * so that "no such object" and an empty answer look alike. */
}

static int collect(struct nfnl *nfnl, struct answer *answer, struct diag *diag)
{
	while (!answer->is_done) {
		ssize_t size = receive(nfnl, diag);
		const struct nlmsghdr *message = (const void *)nfnl->buffer;
		int left;

		if (size < 0)
			return (int)size;
		for (left = (int)size; mnl_nlmsg_ok(message, left) && !answer->is_done;
		     message = mnl_nlmsg_next(message, &left))
			take_message(answer, message);
		if (!answer->is_done && left > 0)
			return diag_fail(diag, EBADMSG, "nf_tables", "a cut message");
	}
	return 0;
}

int nfnl_ask(struct nfnl *nfnl, const struct nfnl_query *query,
	     nfnl_on_message *on_message, void *context, bool *ret_is_interrupted,
	     int *ret_error, struct diag *diag)
{
	char request[2048]; /* two names of at most 255 and headers */
	struct answer answer = {
		.on_message = on_message,
		.context = context,
		.sequence = ++nfnl->sequence,
	};
	struct nlmsghdr *message = put_header(request, table_type(query->type),
					      query->is_single ? NLM_F_ACK : NLM_F_DUMP,
					      query->family, 0, answer.sequence);
	int error;

	for (size_t i = 0; i < ARRAY_SIZE(query->names); i++)
		if (query->names[i].type &&
		    !mnl_attr_put_strz_check(message, sizeof(request),
					     query->names[i].type, query->names[i].value))
			return diag_fail(diag, ENAMETOOLONG, "nf_tables", "a name");
	if (mnl_socket_sendto(nfnl->socket, message, message->nlmsg_len) < 0)
		return diag_fail(diag, errno, "nf_tables", "cannot ask the kernel");
	error = collect(nfnl, &answer, diag);
	if (error)
		return error;
	*ret_is_interrupted = answer.is_interrupted;
	*ret_error = answer.error;
	return answer.stop;
}

static int take_generation(const struct nlmsghdr *message, void *context)
{
	struct attributes rest = nfnl_attributes(message);
	struct attribute attribute;
	uint32_t generation;

	while (attribute_next(&rest, &attribute))
		if (attribute.type == NFTA_GEN_ID &&
		    attribute_u32(&attribute, &generation))
			*(int64_t *)context = generation;
	return 0;
}

int nfnl_generation(struct nfnl *nfnl, uint32_t *ret_generation, struct diag *diag)
{
	const struct nfnl_query query = {.type = NFT_MSG_GETGEN, .is_single = true};
	int64_t generation = -1;
	bool is_interrupted = false;
	int error, failed = 0;

	error = nfnl_ask(nfnl, &query, take_generation, &generation, &is_interrupted,
			 &failed, diag);
	if (error)
		return error;
	if (failed)
		return diag_fail(diag, failed, "nf_tables", "no generation");
	if (generation < 0)
		return diag_fail(diag, EBADMSG, "nf_tables", "no generation");
	*ret_generation = (uint32_t)generation;
	return 0;
}

/* --- batches ------------------------------------------------------------------- */

static bool has_room(struct nfnl_batch *batch, size_t wanted)
{
	if (!batch->is_full && batch->size - batch->used >= wanted)
		return true;
	batch->is_full = true;
	return false;
}

/* Counts the message being filled as part of what is used. */
static void finish_message(struct nfnl_batch *batch)
{
	if (batch->message && !batch->is_full)
		batch->used += ATTRIBUTE_ALIGN(batch->message->nlmsg_len);
	batch->message = NULL;
}

static void add_message(struct nfnl_batch *batch, uint16_t type, uint16_t flags,
			uint8_t family, uint16_t resource)
{
	finish_message(batch);
	if (!has_room(batch, ATTRIBUTE_ALIGN(sizeof(struct nlmsghdr)) +
				     ATTRIBUTE_ALIGN(sizeof(struct nfgenmsg))))
		return;
	batch->message = put_header(batch->buffer + batch->used, type, flags, family,
				    resource, batch->sequence++);
}

void nfnl_batch_start(struct nfnl_batch *batch, struct nfnl *nfnl, void *buffer,
		      size_t size)
{
	*batch = (struct nfnl_batch){
		.buffer = buffer, .size = size, .sequence = nfnl->sequence + 1};
	add_message(batch, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
}

void nfnl_batch_add(struct nfnl_batch *batch, uint8_t type, uint8_t family,
		    uint16_t flags)
{
	add_message(batch, table_type(type), (uint16_t)(flags | NLM_F_ACK), family, 0);
	batch->to_acknowledge++;
}

/* The bytes that the message being filled may still grow to. */
static size_t message_limit(const struct nfnl_batch *batch)
{
	return batch->size - batch->used;
}

void nfnl_put_bytes(struct nfnl_batch *batch, uint16_t type, const void *data,
		    size_t size)
{
	if (batch->is_full || !batch->message ||
	    !mnl_attr_put_check(batch->message, message_limit(batch), type, size, data))
		batch->is_full = true;
}

void nfnl_put_u8(struct nfnl_batch *batch, uint16_t type, uint8_t value)
{
	nfnl_put_bytes(batch, type, &value, sizeof(value));
}

void nfnl_put_u32(struct nfnl_batch *batch, uint16_t type, uint32_t value)
{
	value = htonl(value);
	nfnl_put_bytes(batch, type, &value, sizeof(value));
}

void nfnl_put_string(struct nfnl_batch *batch, uint16_t type, const char *value)
{
	nfnl_put_bytes(batch, type, value, strlen(value) + 1);
}

struct nlattr *nfnl_nest(struct nfnl_batch *batch, uint16_t type)
{
	struct nlattr *nest = NULL;

	if (!batch->is_full && batch->message)
		nest = mnl_attr_nest_start_check(batch->message, message_limit(batch),
						 type);
	if (!nest)
		batch->is_full = true;
	return nest;
}

void nfnl_nest_end(struct nfnl_batch *batch, struct nlattr *nest)
{
	if (!batch->is_full)
		mnl_attr_nest_end(batch->message, nest);
}

/* Reads the answers to a batch. `*ret_acknowledged` counts the good ones; the
 * first refusal is returned, negative, and the rest still read. */
static int take_answers(struct nfnl *nfnl, unsigned int expected, int *ret_refusal,
			struct diag *diag)
{
	unsigned int taken = 0;

	*ret_refusal = 0;
	while (taken < expected && !*ret_refusal) {
		ssize_t size = receive(nfnl, diag);
		const struct nlmsghdr *message = (const void *)nfnl->buffer;
		int left;

		if (size < 0)
			return (int)size;
		for (left = (int)size; mnl_nlmsg_ok(message, left);
		     message = mnl_nlmsg_next(message, &left)) {
			if (message->nlmsg_type != NLMSG_ERROR)
				continue;
			taken++;
			if (!*ret_refusal)
				*ret_refusal = error_of(message);
		}
	}
	return 0;
}

int nfnl_batch_commit(struct nfnl_batch *batch, struct nfnl *nfnl, const char *place,
		      struct diag *diag)
{
	int error, refusal;

	add_message(batch, NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	finish_message(batch);
	if (batch->is_full)
		return diag_fail(diag, ENOBUFS, place, "a batch longer than its buffer");
	nfnl->sequence = batch->sequence;
	if (mnl_socket_sendto(nfnl->socket, batch->buffer, batch->used) < 0)
		return diag_fail(diag, errno, place, "cannot send a transaction");
	error = take_answers(nfnl, batch->to_acknowledge, &refusal, diag);
	if (error)
		return error;
	if (refusal)
		return diag_fail(diag, refusal, place,
				 "the kernel refused the transaction");
	return 0;
}
