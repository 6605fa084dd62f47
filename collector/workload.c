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
#include <unistd.h>

#include <linux/capability.h>
#include <linux/if_link.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>

#include "collector/netview.h"
#include "common/clock.h"
#include "common/number.h"
#include "common/own.h"
#include "policy/kernel/rtnl.h"

enum {
	FOLDER_SIZE = 64,
	PATH_SIZE = 384,
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

/* Whether what was looked at has ended meanwhile, a descriptor closed or a thread gone.
 * Of a thread that is no more the kernel also says EACCES, at a link of its. */
static bool is_over(int error, const char *folder)
{
	bool is_gone = error == ENOENT || error == ESRCH ||
		       (access(folder, F_OK) != 0 && errno == ENOENT);

	errno = error;
	return is_gone;
}

/* --- one process's sockets -------------------------------------------------------- */

/* What a look at every process found, and what it goes by. */
struct look {
	const struct workload *workload;
	pid_t in_flight; /* has descriptors waiting in a queue; 0: none has */
	pid_t capable;   /* has capabilities in the host's user namespace; 0: none has */
	unsigned long long capabilities; /* which */
};

enum protocol { PROTOCOL_GONE, PROTOCOL_UNIX, PROTOCOL_NETLINK, PROTOCOL_OTHER };

/* The protocol of a socket by its name ("TCP", "UDPv6", "UNIX-STREAM"): what
 * sockfs tells of it, without a descriptor of ours. */
static int read_protocol(const char *folder, const char *path,
			 enum protocol *ret_protocol, struct diag *diag)
{
	char name[64] = "";

	*ret_protocol = PROTOCOL_GONE;
	if (getxattr(path, "system.sockprotoname", name, sizeof(name) - 1) < 0)
		return is_over(errno, folder)
			       ? 0
			       : diag_fail(diag, errno, path,
					   "the socket's protocol cannot be told");
	if (strncmp(name, "UNIX", 4) == 0)
		*ret_protocol = PROTOCOL_UNIX;
	else
		*ret_protocol = strncmp(name, "NETLINK", 7) == 0 ? PROTOCOL_NETLINK
								 : PROTOCOL_OTHER;
	return 0;
}

/* Whether the Unix socket has descriptors in its queue: "scm_fds:" of fdinfo. A kernel
 * before 5.10 does not tell, and then none is seen. */
static int read_queued(const char *folder, const char *fd, bool *ret_has_queued,
		       struct diag *diag)
{
	OWN(own_file) FILE *file = NULL;
	char path[PATH_SIZE], line[64];
	unsigned int count = 0;

	*ret_has_queued = false;
	snprintf(path, sizeof(path), "%s/fdinfo/%s", folder, fd);
	file = fopen(path, "re");
	if (!file)
		return is_over(errno, folder)
			       ? 0
			       : diag_fail(diag, errno, path, "cannot be opened");
	errno = 0;
	while (!count && fgets(line, sizeof(line), file))
		if (sscanf(line, "scm_fds: %u", &count) != 1)
			count = 0;
	if (ferror(file) && !is_over(errno, folder))
		return diag_fail(diag, errno, path, "cannot be read");
	*ret_has_queued = count != 0;
	return 0;
}

/* Whether a descriptor is a socket, and whose. By its link first: the file behind another
 * one may be one that not even root can look at (FUSE). */
static int read_socket(const char *folder, const char *path, bool *ret_is_socket,
		       struct stat *ret_status, struct diag *diag)
{
	static const char prefix[] = "socket:[";
	char link[sizeof(prefix) - 1];
	ssize_t size = readlink(path, link, sizeof(link));
	bool is_socket = size == sizeof(link) && memcmp(link, prefix, sizeof(link)) == 0;

	*ret_is_socket = false;
	/* ENAMETOOLONG: a file, whose path is longer than a page. */
	if ((size < 0 && errno != ENAMETOOLONG) ||
	    (is_socket && stat(path, ret_status) != 0))
		return is_over(errno, folder)
			       ? 0
			       : diag_fail(diag, errno, path, "cannot be seen");
	*ret_is_socket = is_socket && S_ISSOCK(ret_status->st_mode);
	return 0;
}

static int judge_descriptor(struct look *look, pid_t pid, const char *folder,
			    const char *fd, struct diag *diag)
{
	char path[PATH_SIZE], place[64];
	struct stat status = {0};
	enum protocol protocol = PROTOCOL_GONE;
	bool is_socket, has_queued = false;
	int error;

	snprintf(path, sizeof(path), "%s/fd/%s", folder, fd);
	error = read_socket(folder, path, &is_socket, &status, diag);
	if (!error && is_socket)
		error = read_protocol(folder, path, &protocol, diag);
	if (!error && protocol == PROTOCOL_UNIX)
		error = read_queued(folder, fd, &has_queued, diag);
	if (has_queued)
		look->in_flight = pid;
	if (error || protocol != PROTOCOL_OTHER ||
	    is_subject(look->workload, status.st_uid))
		return error;
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
	while (!error && directory && (errno = 0, (entry = readdir(directory))))
		if (entry->d_name[0] != '.')
			error = judge_descriptor(look, pid, folder, entry->d_name, diag);
	if (!error && errno && !is_over(errno, folder))
		error = diag_fail(diag, errno, path, "cannot be listed");
	return error;
}

/* --- what a thread may do --------------------------------------------------------- */

struct status {
	bool is_subject;
	bool is_itself; /* its effective uid is a subject's: no setuid program */
	unsigned long long capabilities; /* permitted */
};

#define CAPABILITY(name_) (1ULL << (name_))

/* With these no packet passes, and no other capability is to be had. systemd itself gives
 * the first to managers of regular accounts. */
static const unsigned long long harmless_capabilities =
	CAPABILITY(CAP_WAKE_ALARM) | CAPABILITY(CAP_BLOCK_SUSPEND) |
	CAPABILITY(CAP_NET_BIND_SERVICE) | CAPABILITY(CAP_IPC_LOCK) |
	CAPABILITY(CAP_SYS_NICE);

static int read_status(const struct workload *workload, const char *folder,
		       struct status *ret_status, struct diag *diag)
{
	OWN(own_file) FILE *file = NULL;
	char path[PATH_SIZE], line[256];
	struct status status = {0};
	unsigned int ids[4];
	bool has_ids = false;

	*ret_status = status;
	snprintf(path, sizeof(path), "%s/status", folder);
	file = fopen(path, "re");
	if (!file)
		return is_over(errno, folder)
			       ? 0
			       : diag_fail(diag, errno, path, "cannot be opened");
	errno = 0;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "CapPrm: %llx", &status.capabilities);
		if (sscanf(line, "Uid: %u %u %u %u", &ids[0], &ids[1], &ids[2],
			   &ids[3]) != 4)
			continue;
		has_ids = true;
		status.is_itself = is_subject(workload, ids[1]);
		for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
			status.is_subject |= is_subject(workload, ids[i]);
	}
	if (ferror(file) || !has_ids)
		return is_over(errno, folder)
			       ? 0
			       : diag_fail(diag, errno, path, "tells no uid");
	status.capabilities &= ~harmless_capabilities;
	*ret_status = status;
	return 0;
}

/* The inode of its namespace `kind`; 0: the thread is gone. */
static int read_namespace(const char *folder, const char *kind, uint64_t *ret_inode,
			  struct diag *diag)
{
	char path[PATH_SIZE];
	struct stat status;

	*ret_inode = 0;
	snprintf(path, sizeof(path), "%s/ns/%s", folder, kind);
	if (stat(path, &status) != 0)
		return is_over(errno, folder)
			       ? 0
			       : diag_fail(diag, errno, path, "cannot be seen");
	*ret_inode = status.st_ino;
	return 0;
}

/* One that is gone a moment later was a program with a capability of its own, like ping:
 * kept in mind, and looked for again. */
static int judge_capabilities(struct look *look, pid_t pid, const char *folder,
			      const struct status *status, struct diag *diag)
{
	uint64_t inode;
	int error;

	if (!status->capabilities || !status->is_itself)
		return 0;
	error = read_namespace(folder, "user", &inode, diag);
	/* In a user namespace of its own they have no power over the host's network. */
	if (!error && inode == look->workload->self->user_namespace) {
		look->capable = pid;
		look->capabilities = status->capabilities;
	}
	return error;
}

/* Whether the network namespace belongs to the host's user namespace: then root made it,
 * and what is in it is root's gift. */
static int read_is_roots(const struct look *look, int net_fd, const char *path,
			 bool *ret_is_roots, struct diag *diag)
{
	OWN(own_fd) int user_fd = ioctl(net_fd, NS_GET_USERNS);
	struct stat status;

	if (user_fd < 0 || fstat(user_fd, &status) != 0)
		return diag_fail(diag, errno, path, "its owner cannot be told");
	*ret_is_roots = status.st_ino == look->workload->self->user_namespace;
	return 0;
}

static int judge_network(const struct look *look, pid_t pid, const char *folder,
			 struct diag *diag)
{
	OWN(own_fd) int net_fd = -1;
	char path[PATH_SIZE], name[NETVIEW_NAME_SIZE], place[64];
	bool is_roots = false;
	uint64_t inode;
	int error = read_namespace(folder, "net", &inode, diag);

	if (error || !inode || inode == look->workload->self->net_namespace)
		return error;
	snprintf(path, sizeof(path), "%s/ns/net", folder);
	net_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (net_fd < 0)
		return is_over(errno, folder)
			       ? 0
			       : diag_fail(diag, errno, path, "cannot be opened");
	error = read_is_roots(look, net_fd, path, &is_roots, diag);
	if (error || !is_roots)
		return error;
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

/* --- every thread ----------------------------------------------------------------- */

static int judge_thread(struct look *look, pid_t pid, const char *folder,
			struct diag *diag)
{
	struct status status;
	int error = read_status(look->workload, folder, &status, diag);

	if (error || !status.is_subject)
		return error;
	error = judge_capabilities(look, pid, folder, &status, diag);
	if (!error)
		error = judge_network(look, pid, folder, diag);
	return error ? error : judge_descriptors(look, pid, folder, diag);
}

/* Each thread by itself: it can have ids, namespaces and descriptors of its own. */
static int judge_process(struct look *look, pid_t pid, struct diag *diag)
{
	OWN(own_directory) DIR *directory = NULL;
	const struct dirent *entry;
	char folder[32], thread[FOLDER_SIZE];
	int error = 0;

	snprintf(folder, sizeof(folder), "/proc/%d/task", pid);
	directory = opendir(folder);
	while (!error && directory && (errno = 0, (entry = readdir(directory)))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(thread, sizeof(thread), "%s/%.16s", folder, entry->d_name);
		error = judge_thread(look, pid, thread, diag);
	}
	if (!error && errno && !is_over(errno, folder))
		error = diag_fail(diag, errno, folder, "cannot be listed");
	return error;
}

static int judge_processes(struct look *look, struct diag *diag)
{
	OWN(own_directory) DIR *directory = opendir("/proc");
	const struct dirent *entry;
	int error = 0;

	look->in_flight = look->capable = 0;
	while (!error && directory && (errno = 0, (entry = readdir(directory)))) {
		uint64_t pid;

		if (number_parse(entry->d_name, 1, INT32_MAX, &pid) == 0)
			error = judge_process(look, (pid_t)pid, diag);
	}
	if (!error && errno)
		error = diag_fail(diag, errno, "/proc", "cannot be listed");
	return error;
}

static int refuse_lasting(const struct look *look, struct diag *diag)
{
	char place[64];

	if (look->capable) {
		snprintf(place, sizeof(place), "process %d", look->capable);
		return diag_refuse(
			diag, place,
			"a process of the workload user's has capabilities (%llx), with "
			"which packets could pass beside the policy; end it, and take "
			"them away from whatever started it",
			look->capabilities);
	}
	snprintf(place, sizeof(place), "process %d", look->in_flight);
	return diag_refuse(diag, place,
			   "a Unix socket of a process of the workload user's has "
			   "descriptors in flight, which nobody takes: one could be a "
			   "socket that the policy does not know; end it");
}

/* Descriptors in a queue are mostly on their way, and programs with a capability soon
 * gone: looked at until there were none of either, not necessarily at once. */
static int judge_until_still(struct look *look, struct diag *diag)
{
	int64_t end = clock_boot_ms() + FLIGHT_MS;
	bool has_flight = true, has_capable = true;

	for (;;) {
		int error = judge_processes(look, diag);

		has_flight = has_flight && look->in_flight;
		has_capable = has_capable && look->capable;
		if (error || (!has_flight && !has_capable))
			return error;
		if (clock_boot_ms() >= end)
			break;
		error = wait_until(look->workload->wait, clock_boot_ms() + FLIGHT_STEP_MS,
				   diag);
		if (error)
			return error;
	}
	/* Of what was not there once, nothing is said. */
	if (!has_capable)
		look->capable = 0;
	return refuse_lasting(look, diag);
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

static bool has_group(const struct workload *workload, gid_t group)
{
	for (size_t i = 0; i < workload->group_count; i++)
		if (workload->groups[i] == group)
			return true;
	return false;
}

/* drivers/net/tun.c: an owner or group that is set must be the caller's, one that is
 * not set keeps nobody out; a device in use takes no second one unless shared. */
static bool may_attach(const struct workload *workload, const struct tun *tun)
{
	if (tun->has_owner && !is_subject(workload, tun->owner))
		return false;
	if (tun->has_group && !has_group(workload, tun->group))
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
