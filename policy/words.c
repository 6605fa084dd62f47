// SPDX-License-Identifier: GPL-2.0-or-later
// The words of nft's language.
#include "policy/words.h"

#include <string.h>

#include "common/own.h"

/* clang-format off */
static const char *const words[] = {
	"accept", "add", "ah", "all", "and", "arp", "bridge", "cgroup", "chain",
	"comment", "comp", "constant", "continue", "counter", "cpu", "create", "ct",
	"day", "dccp", "define", "delete", "describe", "destroy", "device", "devices",
	"dnat", "drop", "dst", "dup", "dynamic", "ecn", "element", "elements", "eq",
	"esp", "ether", "exists", "expires", "export", "exthdr", "fib", "flags", "flow",
	"flowtable", "flush", "frag", "fwd", "ge", "geneve", "get", "goto", "gre",
	"gretap", "gt", "handle", "hbh", "hook", "hour", "ibriport", "ibrname", "icmp",
	"icmpv6", "igmp", "iif", "iifgroup", "iifname", "iiftype", "import", "include",
	"index", "inet", "inner", "insert", "interval", "ip", "ip6", "ipsec", "jhash",
	"jump", "last", "le", "limit", "list", "log", "lshift", "lt", "map", "mark",
	"masquerade", "meta", "meter", "mh", "missing", "monitor", "ne", "netdev",
	"nftrace", "not", "notrack", "numgen", "obriport", "obrname", "offload", "oif",
	"oifgroup", "oifname", "oiftype", "or", "osf", "pkttype", "policy", "position",
	"priority", "queue", "quota", "random", "redefine", "redirect", "reject",
	"rename", "replace", "reset", "return", "rshift", "rt", "rt0", "rt2",
	"rtclassid", "rule", "ruleset", "sctp", "secmark", "set", "size", "skgid",
	"skuid", "snat", "socket", "srh", "symhash", "synproxy", "table", "tcp", "th",
	"time", "timeout", "tproxy", "type", "typeof", "udp", "udplite", "undefine",
	"update", "vlan", "vmap", "vxlan", "xor", "xt",
};
/* clang-format on */

bool words_is_reserved(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i], text) == 0)
			return true;
	return false;
}
