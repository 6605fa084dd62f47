// SPDX-License-Identifier: GPL-2.0-or-later
// BPF programs that packets or sockets of the workload meet.
#include "policy/kernel/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "common/own.h"

/*
 * Asked of the kernel with BPF_PROG_QUERY: the effective programs of a cgroup (its
 * own and its ancestors'), of the network namespace, and of each device. Links to
 * netfilter hooks have no such query; all of the machine's are listed, without their
 * namespace, so one in any namespace refuses.
 */

/* Younger than the headers we build with; linux/bpf.h of 6.6 and later. */
#define ATTACH_TCX_INGRESS 46
#define ATTACH_TCX_EGRESS 47
#define LINK_TYPE_NETFILTER 10

struct attach_point {
	unsigned int type;
	const char *name;
};

static const struct attach_point cgroup_points[] = {
	{BPF_CGROUP_INET_INGRESS, "ingress"},
	{BPF_CGROUP_INET_EGRESS, "egress"},
	{BPF_CGROUP_INET_SOCK_CREATE, "sock_create"},
	{BPF_CGROUP_SOCK_OPS, "sock_ops"},
	{BPF_CGROUP_INET4_BIND, "bind4"},
	{BPF_CGROUP_INET6_BIND, "bind6"},
	{BPF_CGROUP_INET4_CONNECT, "connect4"},
	{BPF_CGROUP_INET6_CONNECT, "connect6"},
	{BPF_CGROUP_INET4_POST_BIND, "post_bind4"},
	{BPF_CGROUP_INET6_POST_BIND, "post_bind6"},
	{BPF_CGROUP_UDP4_SENDMSG, "sendmsg4"},
	{BPF_CGROUP_UDP6_SENDMSG, "sendmsg6"},
	{BPF_CGROUP_UDP4_RECVMSG, "recvmsg4"},
	{BPF_CGROUP_UDP6_RECVMSG, "recvmsg6"},
	{BPF_CGROUP_GETSOCKOPT, "getsockopt"},
	{BPF_CGROUP_SETSOCKOPT, "setsockopt"},
	{BPF_CGROUP_INET4_GETPEERNAME, "getpeername4"},
	{BPF_CGROUP_INET6_GETPEERNAME, "getpeername6"},
	{BPF_CGROUP_INET4_GETSOCKNAME, "getsockname4"},
	{BPF_CGROUP_INET6_GETSOCKNAME, "getsockname6"},
	{BPF_CGROUP_INET_SOCK_RELEASE, "sock_release"},
};

static int call_bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* How many programs there are at a point of `target` (a descriptor, or a device's
 * index); 0 where the kernel does not know the point. */
static int count_programs(uint32_t target, unsigned int type, unsigned int flags,
			  unsigned int *ret_count)
{
	union bpf_attr query;

	memset(&query, 0, sizeof(query));
	query.query.target_fd = target;
	query.query.attach_type = type;
	query.query.query_flags = flags;
	if (call_bpf(BPF_PROG_QUERY, &query) == 0) {
		*ret_count = query.query.prog_cnt;
		return 0;
	}
	/* EINVAL: an attach type this kernel does not have, and so no program. */
	if (errno == EINVAL) {
		*ret_count = 0;
		return 0;
	}
	return -errno;
}

static int add_program(struct foreign *foreign, const char *where, const char *point,
		       struct diag *diag)
{
	char name[FOREIGN_NAME_SIZE];

	snprintf(name, sizeof(name), "BPF %s on %s", point, where);
	return foreign_add(foreign, name, point, strlen(point),
			   "a program that may deny, redirect or change traffic", diag);
}

static int read_cgroup(int fd, const char *path, struct foreign *foreign,
		       struct diag *diag)
{
	for (size_t i = 0; i < ARRAY_SIZE(cgroup_points); i++) {
		unsigned int count = 0;
		int error = count_programs((uint32_t)fd, cgroup_points[i].type,
					   BPF_F_QUERY_EFFECTIVE, &count);

		if (error)
			return diag_fail(diag, -error, path,
					 "its BPF programs cannot be listed");
		if (count)
			error = add_program(foreign, path, cgroup_points[i].name, diag);
		if (error)
			return error;
	}
	return 0;
}

/* Opens `cgroup` or its nearest ancestor that is there. */
static int open_cgroup(const char *root, const char *cgroup, char *ret_path, size_t size,
		       int *ret_fd)
{
	char *end;

	/* A path that was cut would be answered for by a cgroup above. */
	if ((size_t)snprintf(ret_path, size, "%s/%s", root, cgroup) >= size)
		return -ENAMETOOLONG;
	for (;;) {
		int fd = open(ret_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
		end = strrchr(ret_path, '/');
		if (errno != ENOENT || !end || (size_t)(end - ret_path) < strlen(root))
			return -errno;
		*end = '\0';
	}
}

static int read_cgroups(const char *root, const char *const *cgroups,
			struct foreign *foreign, struct diag *diag)
{
	for (; *cgroups; cgroups++) {
		OWN(own_fd) int fd = -1;
		char path[FOREIGN_NAME_SIZE - 32];
		int error = open_cgroup(root, *cgroups, path, sizeof(path), &fd);

		if (error)
			return diag_fail(diag, -error, path, "cannot be opened");
		error = read_cgroup(fd, path, foreign, diag);
		if (error)
			return error;
	}
	return 0;
}

static int read_namespace(struct foreign *foreign, struct diag *diag)
{
	static const struct attach_point points[] = {
		{BPF_SK_LOOKUP, "sk_lookup"}, {BPF_FLOW_DISSECTOR, "flow_dissector"}};
	OWN(own_fd) int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return diag_fail(diag, errno, "network namespace", "cannot be opened");
	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		unsigned int count = 0;
		int error = count_programs((uint32_t)fd, points[i].type, 0, &count);

		if (error)
			return diag_fail(diag, -error, "network namespace",
					 "its BPF programs cannot be listed");
		if (count)
			error = add_program(foreign, "the network namespace",
					    points[i].name, diag);
		if (error)
			return error;
	}
	return 0;
}

static int read_device(const struct if_nameindex *device, struct foreign *foreign,
		       struct diag *diag)
{
	static const struct attach_point points[] = {{ATTACH_TCX_INGRESS, "tcx ingress"},
						     {ATTACH_TCX_EGRESS, "tcx egress"}};

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		/* target_ifindex shares its place with target_fd. */
		unsigned int count = 0;
		int error = count_programs(device->if_index, points[i].type, 0, &count);

		/* ENOENT: no entry on this device; ENODEV: it has gone. */
		if (error == -ENOENT || error == -ENODEV)
			continue;
		if (error)
			return diag_fail(diag, -error, device->if_name,
					 "its BPF programs cannot be listed");
		if (count)
			error = add_program(foreign, device->if_name, points[i].name,
					    diag);
		if (error)
			return error;
	}
	return 0;
}

static void release_devices(struct if_nameindex **devices)
{
	if (*devices)
		if_freenameindex(*devices);
}

static int read_all_devices(struct foreign *foreign, struct diag *diag)
{
	OWN(release_devices) struct if_nameindex *devices = if_nameindex();

	if (!devices)
		return diag_fail(diag, errno, "network devices", "cannot be listed");
	for (size_t i = 0; devices[i].if_index; i++) {
		int error = read_device(&devices[i], foreign, diag);

		if (error)
			return error;
	}
	return 0;
}

/* Whether the link `id` is on a netfilter hook; -ENOENT: it has gone. */
static int read_link(uint32_t id, bool *ret_is_netfilter)
{
	union bpf_attr get = {.link_id = id};
	struct bpf_link_info info = {0};
	OWN(own_fd) int fd = call_bpf(BPF_LINK_GET_FD_BY_ID, &get);
	union bpf_attr ask = {.info = {.info_len = sizeof(info)}};

	if (fd < 0)
		return -errno;
	ask.info.bpf_fd = (uint32_t)fd;
	ask.info.info = (uintptr_t)&info;
	if (call_bpf(BPF_OBJ_GET_INFO_BY_FD, &ask) != 0)
		return -errno;
	*ret_is_netfilter = info.type == LINK_TYPE_NETFILTER;
	return 0;
}

static int read_links(struct foreign *foreign, struct diag *diag)
{
	uint32_t id = 0;

	for (;;) {
		union bpf_attr next = {.start_id = id};
		bool is_netfilter = false;
		int error;

		if (call_bpf(BPF_LINK_GET_NEXT_ID, &next) != 0) {
			/* ENOENT ends the list; EINVAL: a kernel without links. */
			if (errno == ENOENT || errno == EINVAL)
				return 0;
			return diag_fail(diag, errno, "BPF links", "cannot be listed");
		}
		id = next.next_id;
		error = read_link(id, &is_netfilter);
		if (error && error != -ENOENT)
			return diag_fail(diag, -error, "BPF links", "cannot be read");
		if (!error && is_netfilter)
			error = add_program(foreign, "a netfilter hook", "link", diag);
		if (error && error != -ENOENT)
			return error;
	}
}

int foreign_read_bpf(const char *cgroup_root, const char *const *cgroups,
		     struct foreign *foreign, struct diag *diag)
{
	union bpf_attr probe = {.start_id = 0};
	int error;

	/* A kernel without bpf() has no programs at all. */
	if (call_bpf(BPF_LINK_GET_NEXT_ID, &probe) != 0 && errno == ENOSYS)
		return 0;
	error = read_cgroups(cgroup_root, cgroups, foreign, diag);
	if (!error)
		error = read_namespace(foreign, diag);
	if (!error)
		error = read_all_devices(foreign, diag);
	return error ? error : read_links(foreign, diag);
}
