// SPDX-License-Identifier: GPL-2.0-or-later
// What on this host is still nobody's: uids, ranges of them, addresses, ports.
#include "collector/freeids.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "common/own.h"

enum {
	/* System accounts: adduser(8) gives numbers out from 100 up, systemd-sysusers(8)
	 * from 999 down, for groups first. What lies far from both stays free until the
	 * account is made. */
	UID_LAST = 899,
	UID_FIRST = 101,
	RANGE_FIRST = 100000, /* SUB_UID_MIN */
	RANGE_LAST = 600100000 - FREEIDS_RANGE,
	STATE_LISTEN = 0x0a, /* TCP_LISTEN of include/net/tcp_states.h */
};

bool freeids_has_account(const char *name)
{
	return getpwnam(name) != NULL;
}

int freeids_find_uid(uint32_t *ret_uid, struct diag *diag)
{
	for (uint32_t uid = UID_LAST; uid >= UID_FIRST; uid--)
		if (!getpwuid(uid) && !getgrgid(uid)) {
			*ret_uid = uid;
			return 0;
		}
	return diag_refuse(
		diag, "accounts",
		"no uid from %d to %d is free; remove an account that nobody uses",
		UID_FIRST, UID_LAST);
}

/* The end of the first range in the file that overlaps with the one from `first` on;
 * 0 if none does. */
static int find_overlap(const char *path, uint64_t first, uint64_t *ret_end,
			struct diag *diag)
{
	OWN(own_file) FILE *file = fopen(path, "re");
	char line[512];

	*ret_end = 0;
	if (!file)
		return errno == ENOENT ? 0
				       : diag_fail(diag, errno, path, "cannot be opened");
	while (fgets(line, sizeof(line), file)) {
		unsigned long long start, count;

		if (sscanf(line, "%*[^:]:%llu:%llu", &start, &count) == 2 &&
		    start < first + FREEIDS_RANGE && start + count > first) {
			*ret_end = start + count;
			return 0;
		}
	}
	return ferror(file) ? diag_fail(diag, EIO, path, "cannot be read") : 0;
}

int freeids_find_range(uint32_t *ret_first, struct diag *diag)
{
	uint64_t first = RANGE_FIRST;

	while (first <= RANGE_LAST) {
		uint64_t end = 0;
		int error = find_overlap("/etc/subuid", first, &end, diag);

		if (!error && !end)
			error = find_overlap("/etc/subgid", first, &end, diag);
		if (error)
			return error;
		if (!end) {
			*ret_first = (uint32_t)first;
			return 0;
		}
		first = end > first ? end : first + 1;
	}
	return diag_refuse(diag, "/etc/subuid",
			   "no range of %d uids is free; remove one that nobody uses",
			   FREEIDS_RANGE);
}

int freeids_is_routed(uint32_t address, bool *ret_is_routed, struct diag *diag)
{
	static const char path[] = "/proc/net/route";
	OWN(own_file) FILE *file = fopen(path, "re");
	char line[512];

	if (!file)
		return diag_fail(diag, errno, path, "cannot be opened");
	*ret_is_routed = false;
	while (fgets(line, sizeof(line), file)) {
		unsigned int to, mask;

		/* Interface, destination, gateway, flags, counts, metric, mask: numbers
		 * as they lie in memory. The heading matches nothing. */
		if (sscanf(line, "%*s %x %*x %*x %*d %*d %*d %x", &to, &mask) == 2 &&
		    mask && (htonl(address) & mask) == to)
			*ret_is_routed = true;
	}
	return ferror(file) ? diag_fail(diag, EIO, path, "cannot be read") : 0;
}

/* One of the kernel's two lists; IPv6 sockets on any address take IPv4's ports, too. */
static int find_listener(const char *path, uint32_t address, uint16_t port, bool *found,
			 struct diag *diag)
{
	OWN(own_file) FILE *file = fopen(path, "re");
	char line[512], local[33];

	if (!file)
		return errno == ENOENT ? 0
				       : diag_fail(diag, errno, path, "cannot be opened");
	while (fgets(line, sizeof(line), file)) {
		unsigned int number, state, literal = 0;

		if (sscanf(line, "%*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x", local, &number,
			   &state) != 3 ||
		    state != STATE_LISTEN || number != port)
			continue;
		if (local[strspn(local, "0")] == '\0' ||
		    (strlen(local) == 8 && sscanf(local, "%x", &literal) == 1 &&
		     literal == htonl(address)))
			*found = true;
	}
	return ferror(file) ? diag_fail(diag, EIO, path, "cannot be read") : 0;
}

int freeids_is_listening(uint32_t address, uint16_t port, bool *ret_is_listening,
			 struct diag *diag)
{
	int error;

	*ret_is_listening = false;
	error = find_listener("/proc/net/tcp", address, port, ret_is_listening, diag);
	if (!error)
		error = find_listener("/proc/net/tcp6", address, port, ret_is_listening,
				      diag);
	return error;
}
