/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process seen from outside: its program, ids, cgroup and confinement (SPEC 7.2). */
#ifndef COLLECTOR_MEASURE_H
#define COLLECTOR_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/diag.h"
#include "common/digest.h"

/*
 * Theory of operation
 *
 * A process is held by its pidfd and by an open directory of its /proc: neither
 * can come to mean another process when the number is reused. The directory is
 * opened between two looks at the pidfd, so both mean the same one. Everything
 * is read through that directory; nothing the process says of itself counts.
 *
 * The program is the file behind /proc/PID/exe, opened through that link and
 * hashed by its bytes: renaming or replacing the file on disk changes nothing
 * about what is running, and what is running is what is hashed.
 */

#define MEASURE_CGROUP_SIZE 320
#define MEASURE_MAP_MAX 16

/* What to do about an agent that is not one, and about one that is gone. */
#define MEASURE_HINT_IMPOSTOR "; find what runs in the agent's place"
#define MEASURE_HINT_LOG "; see what its unit or container logged"

struct process {
	pid_t pid;
	int pidfd;
	int directory; /* /proc/PID */
};

#define PROCESS_INIT                                                                     \
	{                                                                                \
		0, -1, -1                                                                \
	}

struct id_range {
	uint32_t inner, outer, count;
};

/* What could make its system calls fail from outside. */
struct confinement {
	int filters;     /* seccomp filters it is under, its own included */
	char label[128]; /* AppArmor's: "docker-default (enforce)"; "" without AppArmor */
};

struct measurement {
	char exe_sha256[DIGEST_TEXT_SIZE];
	uint64_t exe_device, exe_inode;
	uid_t uid; /* all four alike, or measuring refuses */
	gid_t gid;
	pid_t parent;
	pid_t inner_pid; /* in its own pid namespace */
	size_t depth;    /* of pid namespaces: 1 in ours */
	pid_t tracer;    /* 0: nobody traces it */
	bool no_new_privs;
	int seccomp;          /* 2: filter */
	int64_t capabilities; /* bits in inheritable, permitted, effective, ambient */
	size_t thread_count;
	struct confinement confinement;
	char cgroup[MEASURE_CGROUP_SIZE]; /* unified, without leading slash */
	uint64_t net_namespace, user_namespace, cgroup_namespace;
	struct id_range uids[MEASURE_MAP_MAX], gids[MEASURE_MAP_MAX];
	size_t uid_count, gid_count;
};

/* Holds the process `pid`, which the caller has from a trusted place. A process
 * that is gone is a refusal. */
int process_open(pid_t pid, struct process *ret_process, struct diag *diag);
void process_close(struct process *process);
bool process_is_alive(const struct process *process);

/* Reads that alone: for processes that are not agents. */
int process_read_confinement(const struct process *process,
			     struct confinement *ret_confinement, struct diag *diag);

/* Whether the label's profile denies what it does not allow. */
bool confinement_is_enforced(const struct confinement *confinement);

/* Measures it, and makes sure that it was alive to the end. */
int process_measure(const struct process *process, struct measurement *ret_measurement,
		    struct diag *diag);

/* Refuses a measurement that is not an agent at rest in its sandbox: no new
 * privileges, filter, no capability, one thread, nobody tracing, not
 * dumpable, and the program `runner_sha256`. */
int process_check_agent(const struct process *process, const struct measurement *measured,
			const char *runner_sha256, struct diag *diag);

/* Refuses if anything that must not change has changed between the two. */
int measure_check_same(const struct measurement *before, const struct measurement *after,
		       struct diag *diag);

/* The pids of the process's children, at most `max`. */
int process_children(const struct process *process, pid_t *ret_pids, size_t max,
		     size_t *ret_count, struct diag *diag);

/* Opens its namespace "net", "user" and so on; the caller owns the descriptor. */
int process_open_namespace(const struct process *process, const char *kind, int *ret_fd,
			   struct diag *diag);

/* What `inner` is outside the process's user namespace; false: not mapped. */
bool measure_map_id(const struct id_range *ranges, size_t count, uint32_t inner,
		    uint32_t *ret_outer);

/* Refuses unless the Unix socket's peer is exactly this process. */
int process_check_peer(const struct process *process, int socket_fd, struct diag *diag);

#endif
