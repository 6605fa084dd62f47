// SPDX-License-Identifier: GPL-2.0-or-later
// This host: which it is, and whose sockets the workload's processes hold.
#include "collector/hostview.h"

#include <dirent.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/xattr.h>

#include "common/number.h"
#include "common/own.h"
#include "common/protected.h"

enum { SMALL_LIMIT = 4096 };

static int read_small(const char *path, struct bytes *ret_text, struct diag *diag)
{
	OWN(own_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return diag_fail(diag, errno, path, "cannot be opened");
	return protected_read_fd(fd, SMALL_LIMIT, path, ret_text, diag);
}

int hostview_read(struct host *ret_host, struct diag *diag)
{
	OWN(own_bytes) struct bytes machine = {0};
	OWN(own_bytes) struct bytes boot = {0};
	struct host host;
	struct utsname names;
	int error;

	memset(&host, 0, sizeof(host));
	error = read_small("/etc/machine-id", &machine, diag);

	if (!error)
		error = read_small("/proc/sys/kernel/random/boot_id", &boot, diag);
	if (error)
		return error;
	assert(machine.data && boot.data); /* read_small() always gives a text */
	if (host_machine_id_digest(machine.data, host.machine_id_sha256))
		return diag_fail(diag, 0, "/etc/machine-id", "not a machine id");
	boot.data[strcspn(boot.data, "\n")] = '\0';
	if (!host_boot_id_rule.is_valid(boot.data))
		return diag_fail(diag, 0, "boot_id", "not a boot id");
	strcpy(host.boot_id, boot.data);
	if (uname(&names) != 0 || strlen(names.release) >= sizeof(host.kernel))
		return diag_fail(diag, errno, "uname", "not a kernel release");
	strcpy(host.kernel, names.release);
	*ret_host = host;
	return 0;
}

/* --- sockets ---------------------------------------------------------------------- */

static bool is_subject(const struct subjects *subjects, uid_t uid)
{
	for (size_t i = 0; i < subjects->count; i++)
		if (uid >= subjects->ranges[i].first && uid <= subjects->ranges[i].last)
			return true;
	return false;
}

static void own_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
	*directory = NULL;
}

/* The protocol of a socket by its name ("TCP", "UDPv6", "UNIX-STREAM"): what
 * sockfs tells of it, without a descriptor of ours. */
static bool is_inet(const char *path)
{
	char name[64] = "";
	ssize_t size = getxattr(path, "system.sockprotoname", name, sizeof(name) - 1);

	/* What cannot be told counts as one: it can only refuse. */
	if (size < 0)
		return errno != ENOENT;
	return strncmp(name, "UNIX", 4) != 0 && strncmp(name, "NETLINK", 7) != 0;
}

static int judge_descriptor(const struct subjects *subjects, pid_t pid, const char *path,
			    struct diag *diag)
{
	struct stat status;
	char place[64];

	/* One that was closed meanwhile is none. */
	if (stat(path, &status) != 0 || !S_ISSOCK(status.st_mode) ||
	    is_subject(subjects, status.st_uid) || !is_inet(path))
		return 0;
	snprintf(place, sizeof(place), "process %d", pid);
	return diag_refuse(diag, place,
			   "a process of the workload user's holds a socket of uid %u, "
			   "which the policy would not know; end it",
			   status.st_uid);
}

static bool is_subjects_process(const struct subjects *subjects, const char *folder)
{
	OWN(own_file) FILE *file = NULL;
	char path[64], line[256];
	unsigned int ids[4];

	snprintf(path, sizeof(path), "%s/status", folder);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2],
			   &ids[3]) != 4)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
			if (is_subject(subjects, ids[i]))
				return true;
		return false;
	}
	return false;
}

static int judge_process(const struct subjects *subjects, const char *name,
			 struct diag *diag)
{
	OWN(own_directory) DIR *directory = NULL;
	const struct dirent *entry;
	char folder[32], path[320];
	uint64_t pid;
	int error = 0;

	if (number_parse(name, 1, INT32_MAX, &pid))
		return 0;
	snprintf(folder, sizeof(folder), "/proc/%d", (int)pid);
	if (!is_subjects_process(subjects, folder))
		return 0;
	snprintf(path, sizeof(path), "%s/fd", folder);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT || errno == ESRCH
			       ? 0
			       : diag_fail(diag, errno, path, "cannot be listed");
	while (!error && (entry = readdir(directory))) {
		snprintf(path, sizeof(path), "%s/fd/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.')
			error = judge_descriptor(subjects, (pid_t)pid, path, diag);
	}
	return error;
}

int hostview_check_sockets(const struct subjects *subjects, int64_t *ret_count,
			   struct diag *diag)
{
	OWN(own_directory) DIR *directory = opendir("/proc");
	const struct dirent *entry;
	int error = 0;

	if (!directory)
		return diag_fail(diag, errno, "/proc", "cannot be listed");
	while (!error && (entry = readdir(directory)))
		error = judge_process(subjects, entry->d_name, diag);
	if (!error)
		*ret_count = 0;
	return error;
}

int hostview_holds_socket(const struct process *process, uint64_t inode, bool *ret_holds,
			  struct diag *diag)
{
	OWN(own_directory) DIR *directory = NULL;
	const struct dirent *entry;
	int fd = openat(process->directory, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		int failed = errno;

		own_fd(&fd);
		return diag_fail(diag, failed, "process", "its sockets cannot be listed");
	}
	*ret_holds = false;
	while ((entry = readdir(directory))) {
		struct stat status;

		if (entry->d_name[0] != '.' &&
		    fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 &&
		    S_ISSOCK(status.st_mode) && status.st_ino == inode)
			*ret_holds = true;
	}
	return 0;
}

/* --- accounts --------------------------------------------------------------------- */

int hostview_find_group(const char *name, gid_t *ret_gid, struct diag *diag)
{
	const struct group *group;

	errno = 0;
	group = getgrnam(name);
	if (!group)
		return errno ? diag_fail(diag, errno, name, "groups cannot be read")
			     : diag_refuse(diag, name, "there is no such group");
	*ret_gid = group->gr_gid;
	return 0;
}

int hostview_find_primary_group(uid_t uid, gid_t *ret_gid, struct diag *diag)
{
	const struct passwd *account;

	errno = 0;
	account = getpwuid(uid);
	if (!account)
		return diag_fail(diag, errno, "accounts", "uid %u cannot be read", uid);
	*ret_gid = account->pw_gid;
	return 0;
}
