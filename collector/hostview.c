// SPDX-License-Identifier: GPL-2.0-or-later
// This host: which it is, its accounts, who holds a socket.
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

int hostview_holds_socket(const struct process *process, uint64_t inode, bool *ret_holds,
			  struct diag *diag)
{
	OWN(own_directory) DIR *directory = NULL;
	const struct dirent *entry;
	bool holds = false;
	char place[32], wanted[64], link[64];
	int fd = openat(process->directory, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	snprintf(place, sizeof(place), "process %d", process->pid);
	snprintf(wanted, sizeof(wanted), "socket:[%llu]", (unsigned long long)inode);
	directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		int failed = errno;

		own_fd(&fd);
		return diag_fail(diag, failed, place, "its sockets cannot be listed");
	}
	while (errno = 0, (entry = readdir(directory))) {
		ssize_t size;

		if (entry->d_name[0] == '.')
			continue;
		size = readlinkat(dirfd(directory), entry->d_name, link, sizeof(link));
		/* Closed meanwhile, or a file whose path is longer than a page. */
		if (size < 0 && errno != ENOENT && errno != ENAMETOOLONG)
			return diag_fail(diag, errno, place,
					 "one of its descriptors cannot be seen");
		holds |= size == (ssize_t)strlen(wanted) &&
			 memcmp(link, wanted, (size_t)size) == 0;
	}
	if (errno)
		return diag_fail(diag, errno, place, "its sockets cannot be listed");
	*ret_holds = holds;
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
			     : diag_refuse(diag, name,
					   "there is no such group; run systemd-sysusers "
					   "as net-site(8) says");
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

static bool has_member(const struct group *group, const char *user)
{
	for (char **member = group->gr_mem; *member; member++)
		if (strcmp(*member, user) == 0)
			return true;
	return false;
}

int hostview_find_groups(const char *path, const char *user, gid_t *ret_groups,
			 size_t max, size_t *ret_count, struct diag *diag)
{
	OWN(own_file) FILE *file = fopen(path, "re");
	const struct group *group;
	size_t count = 0;

	if (!file)
		return diag_fail(diag, errno, path, "cannot be opened");
	while (errno = 0, (group = fgetgrent(file))) {
		if (!has_member(group, user))
			continue;
		if (count == max)
			return diag_refuse(diag, path,
					   "has %s in more than %zu groups; take it out "
					   "of those that it does not need",
					   user, max);
		ret_groups[count++] = group->gr_gid;
	}
	if (errno && errno != ENOENT)
		return diag_fail(diag, errno, path, "cannot be read");
	*ret_count = count;
	return 0;
}
