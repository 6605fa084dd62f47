// SPDX-License-Identifier: GPL-2.0-or-later
// What the attributes of nf_tables are called, and how each is written.
#include "policy/kernel/kshape.h"

#include <string.h>

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>

#include "common/own.h"

/* Sources: include/uapi/linux/netfilter/nf_tables.h up to 6.18 for types, and the
 * dump functions of net/netfilter/ for sizes. Numbers that the headers of Debian 12
 * do not have yet: */
#define SET_TYPE 19  /* the backend: prints a kernel address on some builds */
#define SET_COUNT 20 /* elements there are */
#define INNER_NUM 1
#define INNER_TYPE 2
#define INNER_FLAGS 3
#define INNER_HDRSIZE 4
#define INNER_EXPR 5

#define SHAPE(list)                                                                      \
	{                                                                                \
		.fields = (list), .count = ARRAY_SIZE(list)                              \
	}
#define FIELD(number, text, how) [number] = {.name = (text), .kind = KSHAPE_##how}
#define WITHIN(number, text, how, shape)                                                 \
	[number] = {.name = (text), .kind = KSHAPE_##how, .inside = (shape)}
#define DROPPED(number) [number] = {.kind = KSHAPE_DROP}

/* --- objects of a table -------------------------------------------------------- */

static const struct kshape_field table_fields[] = {
	DROPPED(NFTA_TABLE_NAME), /* written first */
	FIELD(NFTA_TABLE_FLAGS, "flags", FLAGS),
	DROPPED(NFTA_TABLE_USE),
	DROPPED(NFTA_TABLE_HANDLE),
	DROPPED(NFTA_TABLE_PAD),
	DROPPED(NFTA_TABLE_USERDATA),
	DROPPED(NFTA_TABLE_OWNER), /* a port number; that it has one is in flags */
};
const struct kshape kshape_table = SHAPE(table_fields);

static const struct kshape_field hook_fields[] = {
	FIELD(NFTA_HOOK_HOOKNUM, "number", U32),
	FIELD(NFTA_HOOK_PRIORITY, "priority", S32),
	FIELD(NFTA_HOOK_DEV, "device", TEXT),
	FIELD(NFTA_HOOK_DEVS, "devices", DEVICES),
};
static const struct kshape hook = SHAPE(hook_fields);

static const struct kshape_field counter_fields[] = {
	DROPPED(NFTA_COUNTER_BYTES),
	DROPPED(NFTA_COUNTER_PACKETS),
	DROPPED(NFTA_COUNTER_PAD),
};
static const struct kshape counters = SHAPE(counter_fields);

static const struct kshape_field chain_fields[] = {
	DROPPED(NFTA_CHAIN_TABLE),
	DROPPED(NFTA_CHAIN_HANDLE),
	DROPPED(NFTA_CHAIN_NAME), /* written first */
	WITHIN(NFTA_CHAIN_HOOK, "hook", NEST, &hook),
	FIELD(NFTA_CHAIN_POLICY, "policy", U32),
	DROPPED(NFTA_CHAIN_USE),
	FIELD(NFTA_CHAIN_TYPE, "type", TEXT),
	WITHIN(NFTA_CHAIN_COUNTERS, "counters", NEST, &counters),
	DROPPED(NFTA_CHAIN_PAD),
	FIELD(NFTA_CHAIN_FLAGS, "flags", FLAGS),
	DROPPED(NFTA_CHAIN_ID),
	DROPPED(NFTA_CHAIN_USERDATA),
};
const struct kshape kshape_chain = SHAPE(chain_fields);

static const struct kshape_field concat_field_fields[] = {
	FIELD(NFTA_SET_FIELD_LEN, "length", U32),
};
static const struct kshape concat_field = SHAPE(concat_field_fields);

static const struct kshape_field set_description_fields[] = {
	FIELD(NFTA_SET_DESC_SIZE, "size", U32),
	WITHIN(NFTA_SET_DESC_CONCAT, "concat", LIST, &concat_field),
};
static const struct kshape set_description = SHAPE(set_description_fields);

static const struct kshape_field set_fields[] = {
	DROPPED(NFTA_SET_TABLE),
	DROPPED(NFTA_SET_NAME), /* written first */
	FIELD(NFTA_SET_FLAGS, "flags", FLAGS),
	FIELD(NFTA_SET_KEY_TYPE, "key_type", U32),
	FIELD(NFTA_SET_KEY_LEN, "key_length", U32),
	FIELD(NFTA_SET_DATA_TYPE, "data_type", U32),
	FIELD(NFTA_SET_DATA_LEN, "data_length", U32),
	FIELD(NFTA_SET_POLICY, "policy", U32),
	WITHIN(NFTA_SET_DESC, "description", NEST, &set_description),
	DROPPED(NFTA_SET_ID),
	FIELD(NFTA_SET_TIMEOUT, "timeout", U64),
	FIELD(NFTA_SET_GC_INTERVAL, "gc_interval", U32),
	DROPPED(NFTA_SET_USERDATA),
	DROPPED(NFTA_SET_PAD),
	FIELD(NFTA_SET_OBJ_TYPE, "object_type", U32),
	DROPPED(NFTA_SET_HANDLE),
	FIELD(NFTA_SET_EXPR, "expression", EXPRESSION),
	FIELD(NFTA_SET_EXPRESSIONS, "expressions", EXPRESSIONS),
	DROPPED(SET_TYPE),
	DROPPED(SET_COUNT),
};
const struct kshape kshape_set = SHAPE(set_fields);

static const struct kshape_field element_fields[] = {
	FIELD(NFTA_SET_ELEM_KEY, "key", DATA),
	FIELD(NFTA_SET_ELEM_DATA, "data", DATA),
	FIELD(NFTA_SET_ELEM_FLAGS, "flags", FLAGS),
	FIELD(NFTA_SET_ELEM_TIMEOUT, "timeout", U64),
	DROPPED(NFTA_SET_ELEM_EXPIRATION),
	DROPPED(NFTA_SET_ELEM_USERDATA),
	FIELD(NFTA_SET_ELEM_EXPR, "expression", EXPRESSION),
	DROPPED(NFTA_SET_ELEM_PAD),
	FIELD(NFTA_SET_ELEM_OBJREF, "object", TEXT),
	FIELD(NFTA_SET_ELEM_KEY_END, "key_end", DATA),
	FIELD(NFTA_SET_ELEM_EXPRESSIONS, "expressions", EXPRESSIONS),
};
const struct kshape kshape_element = SHAPE(element_fields);

static const struct kshape_field rule_compat_fields[] = {
	FIELD(NFTA_RULE_COMPAT_PROTO, "protocol", U32),
	FIELD(NFTA_RULE_COMPAT_FLAGS, "flags", FLAGS),
};
static const struct kshape rule_compat = SHAPE(rule_compat_fields);

static const struct kshape_field rule_fields[] = {
	DROPPED(NFTA_RULE_TABLE),
	DROPPED(NFTA_RULE_CHAIN), /* written first */
	DROPPED(NFTA_RULE_HANDLE),
	FIELD(NFTA_RULE_EXPRESSIONS, "", EXPRESSIONS),
	WITHIN(NFTA_RULE_COMPAT, "compat", NEST, &rule_compat),
	DROPPED(NFTA_RULE_POSITION),
	DROPPED(NFTA_RULE_USERDATA),
	DROPPED(NFTA_RULE_PAD),
	DROPPED(NFTA_RULE_ID),
	DROPPED(NFTA_RULE_POSITION_ID),
	DROPPED(NFTA_RULE_CHAIN_ID),
};
const struct kshape kshape_rule = SHAPE(rule_fields);

static const struct kshape_field object_fields[] = {
	DROPPED(NFTA_OBJ_TABLE),  DROPPED(NFTA_OBJ_NAME), /* written first, as type and
							     data are */
	DROPPED(NFTA_OBJ_TYPE),   DROPPED(NFTA_OBJ_DATA), DROPPED(NFTA_OBJ_USE),
	DROPPED(NFTA_OBJ_HANDLE), DROPPED(NFTA_OBJ_PAD),  DROPPED(NFTA_OBJ_USERDATA),
};
const struct kshape kshape_object = SHAPE(object_fields);

static const struct kshape_field flowtable_hook_fields[] = {
	FIELD(NFTA_FLOWTABLE_HOOK_NUM, "number", U32),
	FIELD(NFTA_FLOWTABLE_HOOK_PRIORITY, "priority", S32),
	FIELD(NFTA_FLOWTABLE_HOOK_DEVS, "devices", DEVICES),
};
static const struct kshape flowtable_hook = SHAPE(flowtable_hook_fields);

static const struct kshape_field flowtable_fields[] = {
	DROPPED(NFTA_FLOWTABLE_TABLE),
	DROPPED(NFTA_FLOWTABLE_NAME), /* written first */
	WITHIN(NFTA_FLOWTABLE_HOOK, "hook", NEST, &flowtable_hook),
	DROPPED(NFTA_FLOWTABLE_USE),
	DROPPED(NFTA_FLOWTABLE_HANDLE),
	DROPPED(NFTA_FLOWTABLE_PAD),
	FIELD(NFTA_FLOWTABLE_FLAGS, "flags", FLAGS),
};
const struct kshape kshape_flowtable = SHAPE(flowtable_fields);

static const struct kshape_field verdict_fields[] = {
	FIELD(NFTA_VERDICT_CODE, "code", S32),
	FIELD(NFTA_VERDICT_CHAIN, "chain", CHAIN_NAME),
	DROPPED(NFTA_VERDICT_CHAIN_ID),
};
const struct kshape kshape_verdict = SHAPE(verdict_fields);

/* --- expressions --------------------------------------------------------------- */

static const struct kshape_field immediate_fields[] = {
	FIELD(NFTA_IMMEDIATE_DREG, "dreg", U32),
	FIELD(NFTA_IMMEDIATE_DATA, "data", DATA),
};
static const struct kshape_field bitwise_fields[] = {
	FIELD(NFTA_BITWISE_SREG, "sreg", U32),  FIELD(NFTA_BITWISE_DREG, "dreg", U32),
	FIELD(NFTA_BITWISE_LEN, "length", U32), FIELD(NFTA_BITWISE_MASK, "mask", DATA),
	FIELD(NFTA_BITWISE_XOR, "xor", DATA),   FIELD(NFTA_BITWISE_OP, "op", U32),
	FIELD(NFTA_BITWISE_DATA, "data", DATA),
};
static const struct kshape_field byteorder_fields[] = {
	FIELD(NFTA_BYTEORDER_SREG, "sreg", U32), FIELD(NFTA_BYTEORDER_DREG, "dreg", U32),
	FIELD(NFTA_BYTEORDER_OP, "op", U32),     FIELD(NFTA_BYTEORDER_LEN, "length", U32),
	FIELD(NFTA_BYTEORDER_SIZE, "size", U32),
};
static const struct kshape_field cmp_fields[] = {
	FIELD(NFTA_CMP_SREG, "sreg", U32),
	FIELD(NFTA_CMP_OP, "op", U32),
	FIELD(NFTA_CMP_DATA, "data", DATA),
};
static const struct kshape_field range_fields[] = {
	FIELD(NFTA_RANGE_SREG, "sreg", U32),
	FIELD(NFTA_RANGE_OP, "op", U32),
	FIELD(NFTA_RANGE_FROM_DATA, "from", DATA),
	FIELD(NFTA_RANGE_TO_DATA, "to", DATA),
};
static const struct kshape_field lookup_fields[] = {
	FIELD(NFTA_LOOKUP_SET, "set", SET_NAME),  FIELD(NFTA_LOOKUP_SREG, "sreg", U32),
	FIELD(NFTA_LOOKUP_DREG, "dreg", U32),     DROPPED(NFTA_LOOKUP_SET_ID),
	FIELD(NFTA_LOOKUP_FLAGS, "flags", FLAGS),
};
static const struct kshape_field dynset_fields[] = {
	FIELD(NFTA_DYNSET_SET_NAME, "set", SET_NAME),
	DROPPED(NFTA_DYNSET_SET_ID),
	FIELD(NFTA_DYNSET_OP, "op", U32),
	FIELD(NFTA_DYNSET_SREG_KEY, "sreg_key", U32),
	FIELD(NFTA_DYNSET_SREG_DATA, "sreg_data", U32),
	FIELD(NFTA_DYNSET_TIMEOUT, "timeout", U64),
	FIELD(NFTA_DYNSET_EXPR, "expression", EXPRESSION),
	DROPPED(NFTA_DYNSET_PAD),
	FIELD(NFTA_DYNSET_FLAGS, "flags", FLAGS),
	FIELD(NFTA_DYNSET_EXPRESSIONS, "expressions", EXPRESSIONS),
};
static const struct kshape_field payload_fields[] = {
	FIELD(NFTA_PAYLOAD_DREG, "dreg", U32),
	FIELD(NFTA_PAYLOAD_BASE, "base", U32),
	FIELD(NFTA_PAYLOAD_OFFSET, "offset", U32),
	FIELD(NFTA_PAYLOAD_LEN, "length", U32),
	FIELD(NFTA_PAYLOAD_SREG, "sreg", U32),
	FIELD(NFTA_PAYLOAD_CSUM_TYPE, "csum_type", U32),
	FIELD(NFTA_PAYLOAD_CSUM_OFFSET, "csum_offset", U32),
	FIELD(NFTA_PAYLOAD_CSUM_FLAGS, "csum_flags", FLAGS),
};
static const struct kshape_field exthdr_fields[] = {
	FIELD(NFTA_EXTHDR_DREG, "dreg", U32),     FIELD(NFTA_EXTHDR_TYPE, "type", U8),
	FIELD(NFTA_EXTHDR_OFFSET, "offset", U32), FIELD(NFTA_EXTHDR_LEN, "length", U32),
	FIELD(NFTA_EXTHDR_FLAGS, "flags", FLAGS), FIELD(NFTA_EXTHDR_OP, "op", U32),
	FIELD(NFTA_EXTHDR_SREG, "sreg", U32),
};
static const struct kshape_field inner_fields[] = {
	FIELD(INNER_NUM, "number", U32),
	FIELD(INNER_TYPE, "type", U32),
	FIELD(INNER_FLAGS, "flags", FLAGS),
	FIELD(INNER_HDRSIZE, "header_size", U32),
	FIELD(INNER_EXPR, "expression", EXPRESSION),
};
static const struct kshape_field meta_fields[] = {
	FIELD(NFTA_META_DREG, "dreg", U32),
	FIELD(NFTA_META_KEY, "key", U32),
	FIELD(NFTA_META_SREG, "sreg", U32),
};
static const struct kshape_field hash_fields[] = {
	FIELD(NFTA_HASH_SREG, "sreg", U32),  FIELD(NFTA_HASH_DREG, "dreg", U32),
	FIELD(NFTA_HASH_LEN, "length", U32), FIELD(NFTA_HASH_MODULUS, "modulus", U32),
	FIELD(NFTA_HASH_SEED, "seed", U32),  FIELD(NFTA_HASH_OFFSET, "offset", U32),
	FIELD(NFTA_HASH_TYPE, "type", U32),
};
static const struct kshape_field numgen_fields[] = {
	FIELD(NFTA_NG_DREG, "dreg", U32),
	FIELD(NFTA_NG_MODULUS, "modulus", U32),
	FIELD(NFTA_NG_TYPE, "type", U32),
	FIELD(NFTA_NG_OFFSET, "offset", U32),
};
static const struct kshape_field rt_fields[] = {
	FIELD(NFTA_RT_DREG, "dreg", U32),
	FIELD(NFTA_RT_KEY, "key", U32),
};
static const struct kshape_field socket_fields[] = {
	FIELD(NFTA_SOCKET_KEY, "key", U32),
	FIELD(NFTA_SOCKET_DREG, "dreg", U32),
	FIELD(NFTA_SOCKET_LEVEL, "level", U32),
};
static const struct kshape_field ct_fields[] = {
	FIELD(NFTA_CT_DREG, "dreg", U32),
	FIELD(NFTA_CT_KEY, "key", U32),
	FIELD(NFTA_CT_DIRECTION, "direction", U8),
	FIELD(NFTA_CT_SREG, "sreg", U32),
};
static const struct kshape_field flow_fields[] = {
	FIELD(NFTA_FLOW_TABLE_NAME, "flowtable", TEXT),
};
static const struct kshape_field limit_fields[] = {
	FIELD(NFTA_LIMIT_RATE, "rate", U64),     FIELD(NFTA_LIMIT_UNIT, "unit", U64),
	FIELD(NFTA_LIMIT_BURST, "burst", U32),   FIELD(NFTA_LIMIT_TYPE, "type", U32),
	FIELD(NFTA_LIMIT_FLAGS, "flags", FLAGS), DROPPED(NFTA_LIMIT_PAD),
};
static const struct kshape_field connlimit_fields[] = {
	FIELD(NFTA_CONNLIMIT_COUNT, "count", U32),
	FIELD(NFTA_CONNLIMIT_FLAGS, "flags", FLAGS),
};
static const struct kshape_field last_fields[] = {
	DROPPED(NFTA_LAST_SET),
	DROPPED(NFTA_LAST_MSECS),
	DROPPED(NFTA_LAST_PAD),
};
/* Fields of 16 bits are written as bytes. */
static const struct kshape_field log_fields[] = {
	FIELD(NFTA_LOG_GROUP, "group", BYTES),
	FIELD(NFTA_LOG_PREFIX, "prefix", TEXT),
	FIELD(NFTA_LOG_SNAPLEN, "snaplen", U32),
	FIELD(NFTA_LOG_QTHRESHOLD, "qthreshold", BYTES),
	FIELD(NFTA_LOG_LEVEL, "level", U32),
	FIELD(NFTA_LOG_FLAGS, "flags", FLAGS),
};
static const struct kshape_field queue_fields[] = {
	FIELD(NFTA_QUEUE_NUM, "number", BYTES),
	FIELD(NFTA_QUEUE_TOTAL, "total", BYTES),
	FIELD(NFTA_QUEUE_FLAGS, "flags", BYTES),
	FIELD(NFTA_QUEUE_SREG_QNUM, "sreg", U32),
};
static const struct kshape_field quota_fields[] = {
	FIELD(NFTA_QUOTA_BYTES, "bytes", U64),
	FIELD(NFTA_QUOTA_FLAGS, "flags", QUOTA_FLAGS),
	DROPPED(NFTA_QUOTA_PAD),
	DROPPED(NFTA_QUOTA_CONSUMED),
};
static const struct kshape_field reject_fields[] = {
	FIELD(NFTA_REJECT_TYPE, "type", U32),
	FIELD(NFTA_REJECT_ICMP_CODE, "code", U8),
};
static const struct kshape_field nat_fields[] = {
	FIELD(NFTA_NAT_TYPE, "type", U32),
	FIELD(NFTA_NAT_FAMILY, "family", U32),
	FIELD(NFTA_NAT_REG_ADDR_MIN, "address_min", U32),
	FIELD(NFTA_NAT_REG_ADDR_MAX, "address_max", U32),
	FIELD(NFTA_NAT_REG_PROTO_MIN, "port_min", U32),
	FIELD(NFTA_NAT_REG_PROTO_MAX, "port_max", U32),
	FIELD(NFTA_NAT_FLAGS, "flags", FLAGS),
};
static const struct kshape_field tproxy_fields[] = {
	FIELD(NFTA_TPROXY_FAMILY, "family", U32),
	FIELD(NFTA_TPROXY_REG_ADDR, "address", U32),
	FIELD(NFTA_TPROXY_REG_PORT, "port", U32),
};
static const struct kshape_field masq_fields[] = {
	FIELD(NFTA_MASQ_FLAGS, "flags", FLAGS),
	FIELD(NFTA_MASQ_REG_PROTO_MIN, "port_min", U32),
	FIELD(NFTA_MASQ_REG_PROTO_MAX, "port_max", U32),
};
static const struct kshape_field redir_fields[] = {
	FIELD(NFTA_REDIR_REG_PROTO_MIN, "port_min", U32),
	FIELD(NFTA_REDIR_REG_PROTO_MAX, "port_max", U32),
	FIELD(NFTA_REDIR_FLAGS, "flags", FLAGS),
};
static const struct kshape_field dup_fields[] = {
	FIELD(NFTA_DUP_SREG_ADDR, "address", U32),
	FIELD(NFTA_DUP_SREG_DEV, "device", U32),
};
static const struct kshape_field fwd_fields[] = {
	FIELD(NFTA_FWD_SREG_DEV, "device", U32),
	FIELD(NFTA_FWD_SREG_ADDR, "address", U32),
	FIELD(NFTA_FWD_NFPROTO, "family", U32),
};
static const struct kshape_field objref_fields[] = {
	FIELD(NFTA_OBJREF_IMM_TYPE, "type", U32),
	FIELD(NFTA_OBJREF_IMM_NAME, "object", TEXT),
	FIELD(NFTA_OBJREF_SET_SREG, "sreg", U32),
	FIELD(NFTA_OBJREF_SET_NAME, "set", SET_NAME),
	DROPPED(NFTA_OBJREF_SET_ID),
};
static const struct kshape_field fib_fields[] = {
	FIELD(NFTA_FIB_DREG, "dreg", U32),
	FIELD(NFTA_FIB_RESULT, "result", U32),
	FIELD(NFTA_FIB_FLAGS, "flags", FLAGS),
};
static const struct kshape_field osf_fields[] = {
	FIELD(NFTA_OSF_DREG, "dreg", U32),
	FIELD(NFTA_OSF_TTL, "ttl", U8),
	FIELD(NFTA_OSF_FLAGS, "flags", FLAGS),
};
static const struct kshape_field synproxy_fields[] = {
	FIELD(NFTA_SYNPROXY_MSS, "mss", BYTES),
	FIELD(NFTA_SYNPROXY_WSCALE, "wscale", U8),
	FIELD(NFTA_SYNPROXY_FLAGS, "flags", FLAGS),
};
static const struct kshape_field xfrm_fields[] = {
	FIELD(NFTA_XFRM_DREG, "dreg", U32),
	FIELD(NFTA_XFRM_KEY, "key", U32),
	FIELD(NFTA_XFRM_DIR, "direction", U8),
	FIELD(NFTA_XFRM_SPNUM, "number", U32),
};
static const struct kshape_field tunnel_fields[] = {
	FIELD(NFTA_TUNNEL_KEY, "key", U32),
	FIELD(NFTA_TUNNEL_DREG, "dreg", U32),
	FIELD(NFTA_TUNNEL_MODE, "mode", U32),
};
/* An extension of iptables: its own bytes, private fields zeroed by the kernel. */
static const struct kshape_field compat_fields[] = {
	FIELD(NFTA_MATCH_NAME, "name", TEXT),
	FIELD(NFTA_MATCH_REV, "revision", U32),
	FIELD(NFTA_MATCH_INFO, "info", BYTES),
};
static const struct kshape_field no_fields[] = {
	DROPPED(0), /* never an attribute's number */
};

static const struct {
	const char *name;
	struct kshape shape;
} expressions[] = {
	/* The commonest first. */
	{"cmp", SHAPE(cmp_fields)},
	{"payload", SHAPE(payload_fields)},
	{"meta", SHAPE(meta_fields)},
	{"lookup", SHAPE(lookup_fields)},
	{"immediate", SHAPE(immediate_fields)},
	{"counter", SHAPE(counter_fields)},
	{"bitwise", SHAPE(bitwise_fields)},
	{"ct", SHAPE(ct_fields)},
	{"socket", SHAPE(socket_fields)},
	{"byteorder", SHAPE(byteorder_fields)},
	{"range", SHAPE(range_fields)},
	{"reject", SHAPE(reject_fields)},
	{"dynset", SHAPE(dynset_fields)},
	{"exthdr", SHAPE(exthdr_fields)},
	{"inner", SHAPE(inner_fields)},
	{"hash", SHAPE(hash_fields)},
	{"numgen", SHAPE(numgen_fields)},
	{"rt", SHAPE(rt_fields)},
	{"flow_offload", SHAPE(flow_fields)},
	{"limit", SHAPE(limit_fields)},
	{"connlimit", SHAPE(connlimit_fields)},
	{"last", SHAPE(last_fields)},
	{"log", SHAPE(log_fields)},
	{"queue", SHAPE(queue_fields)},
	{"quota", SHAPE(quota_fields)},
	{"nat", SHAPE(nat_fields)},
	{"tproxy", SHAPE(tproxy_fields)},
	{"masq", SHAPE(masq_fields)},
	{"redir", SHAPE(redir_fields)},
	{"dup", SHAPE(dup_fields)},
	{"fwd", SHAPE(fwd_fields)},
	{"objref", SHAPE(objref_fields)},
	{"fib", SHAPE(fib_fields)},
	{"osf", SHAPE(osf_fields)},
	{"synproxy", SHAPE(synproxy_fields)},
	{"xfrm", SHAPE(xfrm_fields)},
	{"tunnel", SHAPE(tunnel_fields)},
	{"notrack", SHAPE(no_fields)},
	{"match", SHAPE(compat_fields)},
	{"target", SHAPE(compat_fields)},
};

const struct kshape *kshape_expression(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++)
		if (strcmp(expressions[i].name, name) == 0)
			return &expressions[i].shape;
	return NULL;
}

/* --- what named objects hold --------------------------------------------------- */

static const struct kshape_field ct_helper_fields[] = {
	FIELD(NFTA_CT_HELPER_NAME, "name", TEXT),
	FIELD(NFTA_CT_HELPER_L3PROTO, "l3proto", BYTES),
	FIELD(NFTA_CT_HELPER_L4PROTO, "l4proto", U8),
};
static const struct kshape_field ct_timeout_fields[] = {
	FIELD(NFTA_CT_TIMEOUT_L3PROTO, "l3proto", BYTES),
	FIELD(NFTA_CT_TIMEOUT_L4PROTO, "l4proto", U8),
	FIELD(NFTA_CT_TIMEOUT_DATA, "data", BYTES),
};
static const struct kshape_field secmark_fields[] = {
	FIELD(NFTA_SECMARK_CTX, "context", TEXT),
};

const struct kshape *kshape_object_data(uint32_t type)
{
	static const struct kshape counter = SHAPE(counter_fields),
				   quota = SHAPE(quota_fields),
				   helper = SHAPE(ct_helper_fields),
				   limit = SHAPE(limit_fields),
				   connlimit = SHAPE(connlimit_fields),
				   timeout = SHAPE(ct_timeout_fields),
				   secmark = SHAPE(secmark_fields),
				   synproxy = SHAPE(synproxy_fields);

	switch (type) {
	case NFT_OBJECT_COUNTER:
		return &counter;
	case NFT_OBJECT_QUOTA:
		return &quota;
	case NFT_OBJECT_CT_HELPER:
		return &helper;
	case NFT_OBJECT_LIMIT:
		return &limit;
	case NFT_OBJECT_CONNLIMIT:
		return &connlimit;
	case NFT_OBJECT_CT_TIMEOUT:
		return &timeout;
	case NFT_OBJECT_SECMARK:
		return &secmark;
	case NFT_OBJECT_SYNPROXY:
		return &synproxy;
	default:
		return NULL; /* as bytes */
	}
}
