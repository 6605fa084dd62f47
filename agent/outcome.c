// SPDX-License-Identifier: GPL-2.0-or-later
// What an attempt came to, and which errors mean what.
#include "agent/outcome.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

const char *const outcome_names[OUTCOME_COUNT + 1] = {
	[OUTCOME_CONNECTED] = "connected",
	[OUTCOME_ACCEPTED] = "accepted",
	[OUTCOME_HANDSHAKE_COMPLETED] = "handshake_completed",
	[OUTCOME_HANDSHAKE_FAILED] = "handshake_failed",
	[OUTCOME_PROXY_REFUSED] = "proxy_refused",
	[OUTCOME_PROXY_FORWARDED] = "proxy_forwarded",
	[OUTCOME_CLOSED] = "closed",
	[OUTCOME_REFUSED] = "refused",
	[OUTCOME_RESET] = "reset",
	[OUTCOME_TIMEOUT] = "timeout",
	[OUTCOME_UNREACHABLE] = "unreachable",
	[OUTCOME_NOT_PERMITTED] = "not_permitted",
	[OUTCOME_PROBE_ERROR] = "probe_error",
	[OUTCOME_COUNT] = NULL,
};

enum outcome outcome_from_errno(int error, int family)
{
	switch (error) {
	case ECONNREFUSED:
		return OUTCOME_REFUSED;
	case ECONNRESET:
	case EPIPE:
	case ECONNABORTED:
		return OUTCOME_RESET;
	case EPERM:
	case EACCES:
		return OUTCOME_NOT_PERMITTED;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EAFNOSUPPORT:
	case ENETDOWN:
	case EHOSTDOWN:
		return OUTCOME_UNREACHABLE;
	case ETIMEDOUT:
		return OUTCOME_TIMEOUT;
	case EADDRNOTAVAIL:
		/* IPv6 has no address to send from; for IPv4 it says that the
		 * local ports are used up, which is ours. */
		return family == AF_INET6 ? OUTCOME_UNREACHABLE : OUTCOME_PROBE_ERROR;
	default:
		return OUTCOME_PROBE_ERROR;
	}
}
