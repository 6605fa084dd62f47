// SPDX-License-Identifier: GPL-2.0-or-later
// A process seen from outside: its program, ids, cgroup and confinement (SPEC 7.2).
#include "collector/measure.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/number.h"
#include "common/own.h"
#include "common/protected.h"

enum {
	PROC_LIMIT = 65536,    /* of a text file in /proc/PID */
	EXE_LIMIT = 256 << 20, /* no program of interest is larger */
	PLACE_SIZE = 64,
	SECCOMP_FILTER_MODE = 2, /* proc(5), Seccomp */
};

static void name_place(pid_t pid, const char *file, char ret_place[PLACE_SIZE])
{
	snprintf(ret_place, PLACE_SIZE, "process %d%s%s", pid, file ? ": " : "",
		 file ? file : "");
}

bool process_is_alive(const struct process *process)
{
	struct pollfd polled = {.fd = process->pidfd, .events = POLLIN};

	return poll(&polled, 1, 0) == 0;
}

static int check_alive(const struct process *process, struct diag *diag)
{
	char place[PLACE_SIZE];

	if (process_is_alive(process))
		return 0;
	name_place(process->pid, NULL, place);
	return diag_refuse(diag, place, "has ended" MEASURE_HINT_LOG);
}

int process_open(pid_t pid, struct process *ret_process, struct diag *diag)
{
	OWN(process_close) struct process process = PROCESS_INIT;
	char place[PLACE_SIZE], path[32];
	int error;

	name_place(pid, NULL, place);
	process.pid = pid;
	process.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (process.pidfd < 0)
		return errno == ESRCH || errno == EINVAL
			       ? diag_refuse(diag, place, "has ended" MEASURE_HINT_LOG)
			       : diag_fail(diag, errno, place, "cannot be held");
	snprintf(path, sizeof(path), "/proc/%d", pid);
	process.directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process.directory < 0)
		return errno == ENOENT
			       ? diag_refuse(diag, place, "has ended" MEASURE_HINT_LOG)
			       : diag_fail(diag, errno, place, "cannot be opened");
	error = check_alive(&process, diag);
	if (error)
		return error;
	*ret_process = process;
	process = (struct process)PROCESS_INIT;
	return 0;
}

void process_close(struct process *process)
{
	own_fd(&process->pidfd);
	own_fd(&process->directory);
	process->pid = 0;
}

/* Reads a text file of its /proc; a process that ends meanwhile is a refusal. */
static int read_file(const struct process *process, const char *file,
		     struct bytes *ret_text, struct diag *diag)
{
	OWN(own_fd) int fd = openat(process->directory, file, O_RDONLY | O_CLOEXEC);
	char place[PLACE_SIZE];
	struct diag failure = {0};
	int error;

	name_place(process->pid, file, place);
	error = fd < 0 ? diag_fail(&failure, errno, place, "cannot be opened")
		       : protected_read_fd(fd, PROC_LIMIT, place, ret_text, &failure);
	if (!error)
		return 0;
	if (check_alive(process, diag))
		return -ESRCH;
	return diag_fail(diag, 0, failure.place, "%s", failure.text);
}

/* The text after "NAME:\t" in /proc/PID/status, at the start of a line. */
static const char *find_status(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			return line + length + 1;
	}
	return NULL;
}

/* The blank-separated decimal numbers of a status line, at most `max`. */
static size_t read_numbers(const char *text, uint64_t *ret_numbers, size_t max)
{
	size_t count = 0;

	while (text && count < max) {
		char digits[24];
		size_t length;

		text += strspn(text, "\t ");
		length = strspn(text, "0123456789");
		if (!length || length >= sizeof(digits))
			break;
		memcpy(digits, text, length);
		digits[length] = '\0';
		if (number_parse(digits, 0, UINT64_MAX, &ret_numbers[count]))
			break;
		count++;
		text += length;
	}
	return count;
}

/* The bits of the four sets that a process can use or hand on; -1: not there. */
static int64_t count_capabilities(const char *status)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapAmb"};
	int64_t bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const char *text = find_status(status, sets[i]);

		if (!text)
			return -1;
		for (text += strspn(text, "\t "); *text && *text != '\n'; text++) {
			const char digit[] = {*text, '\0'};

			bits += __builtin_popcountl(strtoul(digit, NULL, 16));
		}
	}
	return bits;
}

static bool are_alike(const uint64_t *numbers, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (numbers[i] != numbers[0])
			return false;
	return true;
}

enum { IDS = 4, PID_DEPTH_MAX = 32 };

static int read_status(const struct process *process, struct measurement *measured,
		       struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	uint64_t uids[IDS], gids[IDS], pids[PID_DEPTH_MAX], one[4] = {0};
	char place[PLACE_SIZE];
	int error = read_file(process, "status", &text, diag);

	if (error)
		return error;
	name_place(process->pid, "status", place);
	measured->depth =
		read_numbers(find_status(text.data, "NSpid"), pids, PID_DEPTH_MAX);
	if (read_numbers(find_status(text.data, "Uid"), uids, IDS) != IDS ||
	    read_numbers(find_status(text.data, "Gid"), gids, IDS) != IDS ||
	    !measured->depth ||
	    !read_numbers(find_status(text.data, "TracerPid"), &one[0], 1) ||
	    !read_numbers(find_status(text.data, "NoNewPrivs"), &one[1], 1) ||
	    !read_numbers(find_status(text.data, "Seccomp"), &one[2], 1) ||
	    !read_numbers(find_status(text.data, "Threads"), &one[3], 1))
		return diag_fail(diag, 0, place, "not as proc(5) says");
	measured->capabilities = count_capabilities(text.data);
	if (measured->capabilities < 0)
		return diag_fail(diag, 0, place, "not as proc(5) says");
	if (!are_alike(uids, IDS) || !are_alike(gids, IDS))
		return diag_refuse(diag, place,
				   "real, effective, saved and file system ids differ; "
				   "find what started it so");
	measured->uid = (uid_t)uids[0];
	measured->gid = (gid_t)gids[0];
	measured->inner_pid = (pid_t)pids[measured->depth - 1];
	measured->tracer = (pid_t)one[0];
	measured->no_new_privs = one[1] == 1;
	measured->seccomp = (int)one[2];
	measured->thread_count = (size_t)one[3];
	if (read_numbers(find_status(text.data, "PPid"), one, 1))
		measured->parent = (pid_t)one[0];
	return 0;
}

/* Each security module has its own file; without AppArmor there is none, or nothing in
 * it. */
static void read_label(const struct process *process, char *ret_label, size_t size)
{
	OWN(own_fd)
	int fd =
		openat(process->directory, "attr/apparmor/current", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, ret_label, size - 1);

	ret_label[length > 0 ? length : 0] = '\0';
	ret_label[strcspn(ret_label, "\n")] = '\0';
}

int process_read_confinement(const struct process *process,
			     struct confinement *ret_confinement, struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	struct confinement confinement = {0};
	char place[PLACE_SIZE];
	uint64_t filters;
	int error = read_file(process, "status", &text, diag);

	if (error)
		return error;
	name_place(process->pid, "status", place);
	if (!read_numbers(find_status(text.data, "Seccomp_filters"), &filters, 1))
		return diag_fail(diag, 0, place,
				 "does not tell of its system call filters: a kernel "
				 "before 5.9?");
	confinement.filters = (int)filters;
	read_label(process, confinement.label, sizeof(confinement.label));
	*ret_confinement = confinement;
	return 0;
}

bool confinement_is_enforced(const struct confinement *confinement)
{
	return strstr(confinement->label, "(enforce)") ||
	       strstr(confinement->label, "(kill)");
}

static int read_cgroup(const struct process *process, struct measurement *measured,
		       struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	char place[PLACE_SIZE], *line, *end;
	int error = read_file(process, "cgroup", &text, diag);

	if (error)
		return error;
	assert(text.data); /* read_file() always gives a text */
	name_place(process->pid, "cgroup", place);
	/* On a hybrid host there are v1 lines; the unified one counts. */
	line = strncmp(text.data, "0::/", 4) == 0 ? text.data
						  : strstr(text.data, "\n0::/");
	if (!line)
		return diag_fail(diag, 0, place, "no unified cgroup");
	line += *line == '\n' ? 5 : 4;
	end = strchr(line, '\n');
	if (!end || (size_t)(end - line) >= sizeof(measured->cgroup))
		return diag_fail(diag, 0, place, "not as cgroups(7) says");
	*end = '\0';
	memset(measured->cgroup, 0, sizeof(measured->cgroup));
	memcpy(measured->cgroup, line, (size_t)(end - line));
	return 0;
}

static int read_map(const struct process *process, const char *file,
		    struct id_range *ranges, size_t *ret_count, struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	char place[PLACE_SIZE];
	size_t count = 0;
	int error = read_file(process, file, &text, diag);

	if (error)
		return error;
	assert(text.data); /* read_file() always gives a text */
	name_place(process->pid, file, place);
	for (const char *line = text.data; *line; line = strchr(line, '\n') + 1) {
		uint64_t numbers[3];

		if (count == MEASURE_MAP_MAX || !strchr(line, '\n') ||
		    read_numbers(line, numbers, 3) != 3)
			return diag_fail(diag, 0, place,
					 "not as user_namespaces(7) says");
		ranges[count++] = (struct id_range){
			(uint32_t)numbers[0], (uint32_t)numbers[1], (uint32_t)numbers[2]};
	}
	*ret_count = count;
	return 0;
}

static int read_namespace(const struct process *process, const char *file,
			  uint64_t *ret_inode, struct diag *diag)
{
	char place[PLACE_SIZE];
	struct stat status;

	if (fstatat(process->directory, file, &status, 0) != 0) {
		int failed = errno;

		if (check_alive(process, diag))
			return -ESRCH;
		name_place(process->pid, file, place);
		return diag_fail(diag, failed, place, "cannot be seen");
	}
	*ret_inode = status.st_ino;
	return 0;
}

static int read_program(const struct process *process, struct measurement *measured,
			struct diag *diag)
{
	OWN(own_fd) int fd = openat(process->directory, "exe", O_RDONLY | O_CLOEXEC);
	char place[PLACE_SIZE];
	struct stat status;

	name_place(process->pid, "program", place);
	if (fd < 0) {
		int failed = errno;

		if (check_alive(process, diag))
			return -ESRCH;
		return diag_fail(diag, failed, place, "cannot be opened");
	}
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return diag_refuse(diag, place,
				   "not a regular file; find what started it so");
	measured->exe_device = status.st_dev;
	measured->exe_inode = status.st_ino;
	return digest_fd(fd, EXE_LIMIT, place, measured->exe_sha256, diag);
}

int process_measure(const struct process *process, struct measurement *ret_measurement,
		    struct diag *diag)
{
	struct measurement measured;
	int error;

	memset(&measured, 0, sizeof(measured));
	error = read_program(process, &measured, diag);
	if (!error)
		error = read_status(process, &measured, diag);
	if (!error)
		error = process_read_confinement(process, &measured.confinement, diag);
	if (!error)
		error = read_cgroup(process, &measured, diag);
	if (!error)
		error = read_map(process, "uid_map", measured.uids, &measured.uid_count,
				 diag);
	if (!error)
		error = read_map(process, "gid_map", measured.gids, &measured.gid_count,
				 diag);
	if (!error)
		error = read_namespace(process, "ns/net", &measured.net_namespace, diag);
	if (!error)
		error = read_namespace(process, "ns/user", &measured.user_namespace,
				       diag);
	if (!error)
		error = read_namespace(process, "ns/cgroup", &measured.cgroup_namespace,
				       diag);
	if (!error)
		error = check_alive(process, diag);
	if (!error)
		*ret_measurement = measured;
	return error;
}

/* A process that is not dumpable has its /proc owned by the root of the user
 * namespace it was executed in (proc(5)); of root itself nothing shows. */
static int check_not_dumpable(const struct process *process,
			      const struct measurement *measured, const char *place,
			      struct diag *diag)
{
	struct stat status;

	if (fstatat(process->directory, "status", &status, 0) != 0)
		return diag_fail(diag, errno, place, "cannot be seen");
	if (measured->uid != 0 && status.st_uid == measured->uid)
		return diag_refuse(diag, place,
				   "dumpable: processes of its own user can trace it; "
				   "find what made it so");
	return 0;
}

int process_check_agent(const struct process *process, const struct measurement *measured,
			const char *runner_sha256, struct diag *diag)
{
	char place[PLACE_SIZE];

	name_place(process->pid, NULL, place);
	if (strcmp(measured->exe_sha256, runner_sha256) != 0)
		return diag_refuse(diag, place,
				   "runs a program with digest %s, not the probe runner; "
				   "find what replaced it, and install the release again",
				   measured->exe_sha256);
	if (measured->tracer)
		return diag_refuse(
			diag, place,
			"is traced by process %d; find out whose that is, and end it",
			measured->tracer);
	if (!measured->no_new_privs)
		return diag_refuse(diag, place,
				   "no-new-privileges is not set" MEASURE_HINT_IMPOSTOR);
	if (measured->seccomp != SECCOMP_FILTER_MODE)
		return diag_refuse(diag, place,
				   "has no system call filter" MEASURE_HINT_IMPOSTOR);
	if (measured->capabilities)
		return diag_refuse(diag, place, "has capabilities" MEASURE_HINT_IMPOSTOR);
	if (measured->thread_count != 1)
		return diag_refuse(diag, place,
				   "has %zu threads, not 1" MEASURE_HINT_IMPOSTOR,
				   measured->thread_count);
	return check_not_dumpable(process, measured, place, diag);
}

int measure_check_same(const struct measurement *before, const struct measurement *after,
		       struct diag *diag)
{
	const char *what = NULL;

	if (strcmp(before->exe_sha256, after->exe_sha256) != 0 ||
	    before->exe_inode != after->exe_inode ||
	    before->exe_device != after->exe_device)
		what = "program";
	else if (before->uid != after->uid || before->gid != after->gid)
		what = "ids";
	else if (strcmp(before->cgroup, after->cgroup) != 0)
		what = "cgroup";
	else if (before->net_namespace != after->net_namespace ||
		 before->user_namespace != after->user_namespace ||
		 before->cgroup_namespace != after->cgroup_namespace)
		what = "namespaces";
	else if (before->inner_pid != after->inner_pid || before->depth != after->depth)
		what = "pid";
	return what ? diag_refuse(diag, NULL,
				  "its %s changed while it ran; find what changed it",
				  what)
		    : 0;
}

int process_children(const struct process *process, pid_t *ret_pids, size_t max,
		     size_t *ret_count, struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	uint64_t numbers[64];
	char file[48];
	size_t count;
	int error;

	snprintf(file, sizeof(file), "task/%d/children", process->pid);
	error = read_file(process, file, &text, diag);
	if (error)
		return error;
	count = read_numbers(text.data, numbers, ARRAY_SIZE(numbers));
	if (count > max)
		count = max;
	for (size_t i = 0; i < count; i++)
		ret_pids[i] = (pid_t)numbers[i];
	*ret_count = count;
	return 0;
}

int process_open_namespace(const struct process *process, const char *kind, int *ret_fd,
			   struct diag *diag)
{
	char file[32], place[PLACE_SIZE];
	int fd;

	snprintf(file, sizeof(file), "ns/%s", kind);
	fd = openat(process->directory, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		name_place(process->pid, file, place);
		return diag_fail(diag, errno, place, "cannot be opened");
	}
	*ret_fd = fd;
	return 0;
}

bool measure_map_id(const struct id_range *ranges, size_t count, uint32_t inner,
		    uint32_t *ret_outer)
{
	for (size_t i = 0; i < count; i++)
		if (inner >= ranges[i].inner &&
		    inner - ranges[i].inner < ranges[i].count) {
			*ret_outer = ranges[i].outer + (inner - ranges[i].inner);
			return true;
		}
	return false;
}

int process_check_peer(const struct process *process, int socket_fd, struct diag *diag)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	char place[PLACE_SIZE];

	name_place(process->pid, NULL, place);
	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return diag_fail(diag, errno, place, "its socket's peer cannot be told");
	if (peer.pid != process->pid)
		return diag_refuse(diag, place,
				   "its socket is answered by process %d instead; find "
				   "out whose that is, and end it",
				   peer.pid);
	return check_alive(process, diag);
}
