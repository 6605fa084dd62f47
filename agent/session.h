/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session: request lines in, answer lines out, on descriptors 0 and 1. */
#ifndef AGENT_SESSION_H
#define AGENT_SESSION_H

#include "agent/agent.h"
#include "common/diag.h"

/*
 * Theory of operation
 *
 * One loop. Each turn ends what is overdue, starts the requests that have arrived
 * whole while fewer than 64 are in flight, writes the answers whose turn it is, and
 * waits. A request stays in flight until its answer is in the output buffer, so a
 * client that does not read stops us from reading: neither side can make the agent
 * hold more than its two buffers and 64 probes.
 *
 * What ends a session: "exit", the end of input, a request that is refused (its answer
 * is the last), SIGTERM, SIGINT or SIGHUP, or a client that went away.
 *
 * Descriptors may pass with the input when it is the Unix socket, one with the bytes of
 * its adopt. recvmsg() never returns more than one message's descriptors and ends its
 * data there, but may put the end of the message before in front. So at most two wait
 * for their adopts; a third is a mistake of the client's.
 */

/* Serves until the session ends. Returns 0 when it ended as asked; a refusal when a
 * request was refused; "could not tell" when the answers could not be delivered. */
int session_run(struct agent *agent, struct diag *diag);

#endif
