// SPDX-License-Identifier: GPL-2.0-or-later
// The workload's processes on this host: what they hold that no rule of ours would meet.
#include "collector/workload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <linux/if_link.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>

#include "collector/netview.h"
#include "common/clock.h"
#include "common/number.h"
#include "common/own.h"
#include "policy/kernel/rtnl.h"

enum {
	FOLDER_SIZE = 32,
	PATH_SIZE = 320,
	FLIGHT_MS = 1000, /* a descriptor that is sent is received long before */
	FLIGHT_STEP_MS = 20,
};

static bool is_subject(const struct workload *workload, uid_t uid)
{
	const struct subjects *subjects = workload->subjects;

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

/* --- one process's sockets -------------------------------------------------------- */

/* What a look at every process found, and what it goes by. */
struct look {
	const struct workload *workload;
	pid_t in_flight; /* has descriptors waiting in a queue; 0: none has */
};

enum protocol { PROTOCOL_GONE, PROTOCOL_UNIX, PROTOCOL_NETLINK, PROTOCOL_OTHER };

/* The protocol of a socket by its name ("TCP", "UDPv6", "UNIX-STREAM"): what
 * sockfs tells of it, without a descriptor of ours. */
static enum protocol find_protocol(const char *path)
{
	char name[64] = "";
	ssize_t size = getxattr(path, "system.sockprotoname", name, sizeof(name) - 1);

	/* What cannot be told counts as one that leaves: it can only refuse. */
	if (size < 0)
		return errno == ENOENT ? PROTOCOL_GONE : PROTOCOL_OTHER;
	if (strncmp(name, "UNIX", 4) == 0)
		return PROTOCOL_UNIX;
	return strncmp(name, "NETLINK", 7) == 0 ? PROTOCOL_NETLINK : PROTOCOL_OTHER;
}

/* Whether the Unix socket has descriptors in its queue: "scm_fds:" of fdinfo. A kernel
 * before 5.10 does not tell, and then none is seen. */
static bool has_queued_descriptors(const char *folder, const char *fd)
{
	OWN(own_file) FILE *file = NULL;
	char path[PATH_SIZE], line[64];
	unsigned int count = 0;

	snprintf(path, sizeof(path), "%s/fdinfo/%s", folder, fd);
	file = fopen(path, "re");
	while (file && !count && fgets(line, sizeof(line), file))
		if (sscanf(line, "scm_fds: %u", &count) != 1)
			count = 0;
	return count != 0;
}

static int judge_descriptor(struct look *look, pid_t pid, const char *folder,
			    const char *fd, struct diag *diag)
{
	char path[PATH_SIZE], place[64];
	struct stat status;
	enum protocol protocol;

	snprintf(path, sizeof(path), "%s/fd/%s", folder, fd);
	/* One that was closed meanwhile is none. */
	if (stat(path, &status) != 0 || !S_ISSOCK(status.st_mode))
		return 0;
	protocol = find_protocol(path);
	if (protocol == PROTOCOL_UNIX && has_queued_descriptors(folder, fd))
		look->in_flight = pid;
	if (protocol != PROTOCOL_OTHER || is_subject(look->workload, status.st_uid))
		return 0;
	snprintf(place, sizeof(place), "process %d", pid);
	return diag_refuse(diag, place,
			   "a process of the workload user's holds a socket of uid %u, "
			   "which the policy would not know; end it",
			   status.st_uid);
}

static int judge_descriptors(struct look *look, pid_t pid, const char *folder,
			     struct diag *diag)
{
	OWN(own_directory) DIR *directory = NULL;
	const struct dirent *entry;
	char path[PATH_SIZE];
	int error = 0;

	snprintf(path, sizeof(path), "%s/fd", folder);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT || errno == ESRCH
			       ? 0
			       : diag_fail(diag, errno, path, "cannot be listed");
	while (!error && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			error = judge_descriptor(look, pid, folder, entry->d_name, diag);
	return error;
}

/* --- what a process may do -------------------------------------------------------- */

struct status {
	bool is_subject;
	unsigned long long capabilities; /* permitted */
};

static bool read_status(const struct workload *workload, const char *folder,
			struct status *ret_status)
{
	OWN(own_file) FILE *file = NULL;
	char path[PATH_SIZE], line[256];
	unsigned int ids[4];

	*ret_status = (struct status){0};
	snprintf(path, sizeof(path), "%s/status", folder);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "CapPrm: %llx", &ret_status->capabilities);
		if (sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2],
			   &ids[3]) != 4)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
			ret_status->is_subject |= is_subject(workload, ids[i]);
	}
	return ret_status->is_subject;
}

/* The inode of its namespace `kind`; false: the process is gone. */
static bool read_namespace(const char *folder, const char *kind, uint64_t *ret_inode)
{
	char path[PATH_SIZE];
	struct stat status;

	snprintf(path, sizeof(path), "%s/ns/%s", folder, kind);
	if (stat(path, &status) != 0)
		return false;
	*ret_inode = status.st_ino;
	return true;
}

static int judge_capabilities(const struct look *look, pid_t pid, const char *folder,
			      const struct status *status, struct diag *diag)
{
	char place[64];
	uint64_t inode;

	/* In a user namespace of its own they have no power over the host's network. */
	if (!status->capabilities || !read_namespace(folder, "user", &inode) ||
	    inode != look->workload->self->user_namespace)
		return 0;
	snprintf(place, sizeof(place), "process %d", pid);
	return diag_refuse(
		diag, place,
		"a process of the workload user's has capabilities (%llx), with "
		"which packets could pass beside the policy; end it, and take "
		"them away from whatever started it",
		status->capabilities);
}

/* Whether the network namespace belongs to the host's user namespace: then root made it,
 * and what is in it is root's gift. */
static bool is_roots(const struct look *look, int net_fd)
{
	OWN(own_fd) int user_fd = ioctl(net_fd, NS_GET_USERNS);
	struct stat status;

	return user_fd >= 0 && fstat(user_fd, &status) == 0 &&
	       status.st_ino == look->workload->self->user_namespace;
}

static int judge_network(const struct look *look, pid_t pid, const char *folder,
			 struct diag *diag)
{
	OWN(own_fd) int net_fd = -1;
	char path[PATH_SIZE], name[NETVIEW_NAME_SIZE], place[64];
	uint64_t inode;
	int error;

	if (!read_namespace(folder, "net", &inode) ||
	    inode == look->workload->self->net_namespace)
		return 0;
	snprintf(path, sizeof(path), "%s/ns/net", folder);
	net_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (net_fd < 0 || !is_roots(look, net_fd))
		return 0;
	error = netview_find_up(net_fd, name, diag);
	if (error || !name[0])
		return error;
	snprintf(place, sizeof(place), "process %d", pid);
	return diag_refuse(
		diag, place,
		"a process of the workload user's is in a network namespace of "
		"root's with an interface of its own ('%s'): what it sends is "
		"forwarded, beside the policy; end it",
		name);
}

/* --- every process ---------------------------------------------------------------- */

static int judge_process(struct look *look, const char *name, struct diag *diag)
{
	char folder[FOLDER_SIZE];
	struct status status;
	uint64_t pid;
	int error;

	if (number_parse(name, 1, INT32_MAX, &pid))
		return 0;
	snprintf(folder, sizeof(folder), "/proc/%d", (int)pid);
	if (!read_status(look->workload, folder, &status))
		return 0;
	error = judge_capabilities(look, (pid_t)pid, folder, &status, diag);
	if (!error)
		error = judge_network(look, (pid_t)pid, folder, diag);
	return error ? error : judge_descriptors(look, (pid_t)pid, folder, diag);
}

static int judge_processes(struct look *look, struct diag *diag)
{
	OWN(own_directory) DIR *directory = opendir("/proc");
	const struct dirent *entry;
	int error = 0;

	if (!directory)
		return diag_fail(diag, errno, "/proc", "cannot be listed");
	look->in_flight = 0;
	while (!error && (entry = readdir(directory)))
		error = judge_process(look, entry->d_name, diag);
	return error;
}

/* Descriptors in a queue are mostly on their way: looked at until there are none. */
static int judge_until_still(struct look *look, struct diag *diag)
{
	int64_t end = clock_boot_ms() + FLIGHT_MS;
	char place[64];

	for (;;) {
		int error = judge_processes(look, diag);

		if (error || !look->in_flight)
			return error;
		if (clock_boot_ms() >= end)
			break;
		error = wait_until(look->workload->wait, clock_boot_ms() + FLIGHT_STEP_MS,
				   diag);
		if (error)
			return error;
	}
	snprintf(place, sizeof(place), "process %d", look->in_flight);
	return diag_refuse(diag, place,
			   "a Unix socket of a process of the workload user's has "
			   "descriptors in flight, which nobody takes: one could be a "
			   "socket that the policy does not know; end it");
}

/* --- packet sockets and devices --------------------------------------------------- */

static int judge_packet_sockets(const struct workload *workload, struct diag *diag)
{
	static const char path[] = "/proc/thread-self/net/packet";
	OWN(own_file) FILE *file = fopen(path, "re");
	char line[256];

	/* Not there: the kernel has no packet sockets. */
	if (!file)
		return errno == ENOENT ? 0
				       : diag_fail(diag, errno, path, "cannot be read");
	while (fgets(line, sizeof(line), file)) {
		unsigned int uid;

		/* sk RefCnt Type Proto Iface R Rmem User Inode; the first is a title. */
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %u", &uid) == 1 &&
		    is_subject(workload, uid))
			return diag_refuse(diag, "packet sockets",
					   "the workload (uid %u) has one, whose packets "
					   "pass beside the policy; end its process",
					   uid);
	}
	return ferror(file) ? diag_fail(diag, errno, path, "cannot be read") : 0;
}

/* Of linux/if_link.h, IFLA_TUN_... */
struct tun {
	bool has_owner, has_group;
	uint32_t owner, group;
	bool is_persistent, is_shared; /* stays without a user; takes several */
	uint32_t queues, idle_queues;
};

static void read_number(const struct attribute *attribute, uint32_t *ret_number)
{
	if (attribute->size == sizeof(*ret_number))
		memcpy(ret_number, attribute->data, sizeof(*ret_number));
}

static bool is_set(const struct attribute *attribute)
{
	return attribute->size != 1 || attribute->data[0];
}

static struct tun read_tun(struct attributes rest)
{
	struct tun tun = {0};
	struct attribute attribute;

	while (attribute_next(&rest, &attribute))
		switch (attribute.type) {
		case IFLA_TUN_OWNER:
			tun.has_owner = true;
			read_number(&attribute, &tun.owner);
			break;
		case IFLA_TUN_GROUP:
			tun.has_group = true;
			read_number(&attribute, &tun.group);
			break;
		case IFLA_TUN_PERSIST:
			tun.is_persistent = is_set(&attribute);
			break;
		case IFLA_TUN_MULTI_QUEUE:
			tun.is_shared = is_set(&attribute);
			break;
		case IFLA_TUN_NUM_QUEUES:
			read_number(&attribute, &tun.queues);
			break;
		case IFLA_TUN_NUM_DISABLED_QUEUES:
			read_number(&attribute, &tun.idle_queues);
			break;
		default:
			break;
		}
	return tun;
}

/* drivers/net/tun.c: an owner or group that is set must be the caller's, one that is
 * not set keeps nobody out; a device in use takes no second one unless shared. */
static bool may_attach(const struct workload *workload, const struct tun *tun)
{
	if (tun->has_owner && !is_subject(workload, tun->owner))
		return false;
	if (tun->has_group && tun->group != workload->gid)
		return false;
	/* Named for the workload: whether it is in use at the moment does not matter. */
	if (tun->has_owner || tun->has_group)
		return true;
	return tun->is_shared ||
	       (tun->is_persistent && tun->queues + tun->idle_queues == 0);
}

struct devices {
	const struct workload *workload;
	char name[IFNAMSIZ]; /* of one that refuses */
};

static void start_devices(void *context)
{
	((struct devices *)context)->name[0] = '\0';
}

static int take_device(const struct nlmsghdr *message, void *context)
{
	struct devices *devices = context;
	struct attributes rest = rtnl_attributes(message, sizeof(struct ifinfomsg));
	struct attributes info = {0}, data = {0};
	struct attribute attribute;
	const char *name = NULL, *kind = NULL;
	struct tun tun;

	if (message->nlmsg_type != RTM_NEWLINK || !rest.data)
		return -EBADMSG;
	while (attribute_next(&rest, &attribute)) {
		if (attribute.type == IFLA_IFNAME)
			name = attribute_string(&attribute);
		if (attribute.type == IFLA_LINKINFO)
			info = attribute_inside(&attribute);
	}
	while (attribute_next(&info, &attribute)) {
		if (attribute.type == IFLA_INFO_KIND)
			kind = attribute_string(&attribute);
		if (attribute.type == IFLA_INFO_DATA)
			data = attribute_inside(&attribute);
	}
	if (!kind || strcmp(kind, "tun") != 0)
		return 0;
	tun = read_tun(data);
	if (may_attach(devices->workload, &tun))
		snprintf(devices->name, sizeof(devices->name), "%s", name ? name : "?");
	return 0;
}

static int judge_devices(const struct workload *workload, struct diag *diag)
{
	struct devices devices = {.workload = workload};
	struct ifinfomsg header = {.ifi_family = AF_UNSPEC};
	int error = rtnl_dump(RTM_GETLINK, &header, sizeof(header), start_devices,
			      take_device, &devices, "network devices", diag);

	if (error || !devices.name[0])
		return error;
	return diag_refuse(
		diag, devices.name,
		"a TUN device that the workload may attach to: what it sends "
		"there is forwarded, beside the policy; give it another owner, "
		"or remove it");
}

int workload_check(const struct workload *workload, int64_t *ret_sockets,
		   struct diag *diag)
{
	struct look look = {.workload = workload};
	int error = judge_until_still(&look, diag);

	if (!error)
		error = judge_packet_sockets(workload, diag);
	if (!error)
		error = judge_devices(workload, diag);
	if (!error)
		*ret_sockets = 0;
	return error;
}
