/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an attempt came to, and which errors mean what. */
#ifndef AGENT_OUTCOME_H
#define AGENT_OUTCOME_H

/* In the order of outcome_names. */
enum outcome {
	OUTCOME_CONNECTED,
	OUTCOME_ACCEPTED,
	OUTCOME_HANDSHAKE_COMPLETED,
	OUTCOME_HANDSHAKE_FAILED,
	OUTCOME_PROXY_REFUSED,
	OUTCOME_PROXY_FORWARDED,
	OUTCOME_CLOSED,
	OUTCOME_REFUSED,
	OUTCOME_RESET,
	OUTCOME_TIMEOUT,
	OUTCOME_UNREACHABLE,
	OUTCOME_NOT_PERMITTED,
	OUTCOME_PROBE_ERROR,
	OUTCOME_COUNT,
};

/* Ends with NULL, for JSON_CHOICE. */
extern const char *const outcome_names[OUTCOME_COUNT + 1];

/* What a socket call's error (a positive errno) says of the network, for a socket
 * of `family` (AF_INET or AF_INET6). Whatever is not known to come from the way
 * to the peer is OUTCOME_PROBE_ERROR: a broken probe is no denial. */
enum outcome outcome_from_errno(int error, int family);

#endif
