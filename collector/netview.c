// SPDX-License-Identifier: GPL-2.0-or-later
// Another network namespace read from outside: interfaces, routes, sockets.
#include "collector/netview.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <grp.h>
#include <net/if.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>

#include "collector/fdpass.h"
#include "common/own.h"

enum {
	DUMP_ATTEMPTS = 8,
	REPLY_SECONDS = 5,
	TCP_STATE_ESTABLISHED = 1, /* include/net/tcp_states.h */
	TCP_STATE_LISTEN = 10,
};

/* --- a socket of another namespace ------------------------------------------------ */

struct socket_job {
	int net_fd;
	uid_t uid;
	int domain, type, protocol;
	const struct endpoint *endpoint; /* bind and listen, or NULL */
};

static int make_listener(int fd, const struct endpoint *endpoint)
{
	struct sockaddr_storage address;
	socklen_t size;
	int yes = 1;

	if (inet_parse(endpoint->address, endpoint->port, &address, &size))
		return -EINVAL;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
	    bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 64) != 0)
		return -errno;
	return 0;
}

static int make_socket(void *context, int *ret_fd)
{
	const struct socket_job *job = context;
	int fd;

	if (job->net_fd >= 0 && setns(job->net_fd, CLONE_NEWNET) != 0)
		return -errno;
	/* The socket's owner is fixed here: rules look at it for ever. */
	if (job->uid != 0 &&
	    (setgroups(0, NULL) != 0 || setresuid(job->uid, job->uid, job->uid) != 0))
		return -errno;
	fd = socket(job->domain, job->type | SOCK_CLOEXEC, job->protocol);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return job->endpoint ? make_listener(fd, job->endpoint) : 0;
}

int netview_socket(int net_fd, uid_t uid, int domain, int type, int protocol, int *ret_fd,
		   struct diag *diag)
{
	struct socket_job job = {net_fd, uid, domain, type, protocol, NULL};
	int error = fdpass_run(make_socket, &job, net_fd, ret_fd, diag);

	return error ? diag_fail(diag, -error, "namespace", "no socket can be made in it")
		     : 0;
}

int netview_listen(int net_fd, uid_t uid, const struct endpoint *endpoint, int *ret_fd,
		   struct diag *diag)
{
	struct socket_job job = {net_fd, uid, AF_INET, SOCK_STREAM, 0, endpoint};
	int error = fdpass_run(make_socket, &job, net_fd, ret_fd, diag);

	if (!error || error == -EADDRINUSE)
		return error;
	return diag_fail(diag, -error, "namespace", "cannot listen on port %u",
			 endpoint->port);
}

/* --- netlink ---------------------------------------------------------------------- */

struct conversation {
	int fd;
	uint32_t sequence;
};

static int open_netlink(int net_fd, int protocol, int *ret_fd, struct diag *diag)
{
	const struct timeval patience = {REPLY_SECONDS, 0};
	OWN(own_fd) int fd = -1;
	int error = netview_socket(net_fd, 0, AF_NETLINK, SOCK_RAW, protocol, &fd, diag);

	if (error)
		return error;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)
		return diag_fail(diag, errno, "netlink", "cannot be bounded");
	*ret_fd = take_fd(&fd);
	return 0;
}

/* One request and all of its replies. Returns 0, -EINTR for an interrupted dump,
 * the kernel's own answer (-ENETUNREACH …), or another -errno. */
static int converse(int fd, struct nlmsghdr *request, mnl_cb_t callback, void *context)
{
	static uint32_t sequence;
	/* Dumps come in pieces of at most 32 KiB (netlink's own bound). */
	static char buffer[65536];

	request->nlmsg_seq = ++sequence;
	if (send(fd, request, request->nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t got = recv(fd, buffer, sizeof(buffer), MSG_TRUNC);
		int more;

		if (got < 0)
			return errno == EINTR ? -EIO : -errno;
		if ((size_t)got > sizeof(buffer))
			return -EMSGSIZE;
		more = mnl_cb_run(buffer, (size_t)got, sequence, 0, callback, context);
		if (more < 0)
			return -errno;
		if (more == MNL_CB_STOP)
			return 0;
	}
}

static int dump(int net_fd, int protocol, struct nlmsghdr *request, mnl_cb_t callback,
		void *context, void (*reset)(void *context), const char *place,
		struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	int error = open_netlink(net_fd, protocol, &fd, diag);

	if (error)
		return error;
	for (int attempt = 0; attempt < DUMP_ATTEMPTS; attempt++) {
		reset(context);
		error = converse(fd, request, callback, context);
		if (error != -EINTR)
			break;
		/* The rest of an interrupted dump stays in the old socket. */
		own_fd(&fd);
		error = open_netlink(net_fd, protocol, &fd, diag);
		if (error)
			return error;
		error = -EINTR;
	}
	return error ? diag_fail(diag, -error, place, "cannot be listed") : 0;
}

struct names {
	char (*names)[NETVIEW_NAME_SIZE];
	size_t max, count;
};

static int take_name(const struct nlattr *attribute, void *context)
{
	struct names *names = context;

	if (mnl_attr_get_type(attribute) != IFLA_IFNAME)
		return MNL_CB_OK;
	if (mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) < 0 ||
	    mnl_attr_get_payload_len(attribute) > NETVIEW_NAME_SIZE) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	if (names->count < names->max)
		strcpy(names->names[names->count], mnl_attr_get_str(attribute));
	names->count++;
	return MNL_CB_OK;
}

static int take_interface(const struct nlmsghdr *message, void *context)
{
	return mnl_attr_parse(message, sizeof(struct ifinfomsg), take_name, context);
}

static void reset_names(void *context)
{
	((struct names *)context)->count = 0;
}

static int dump_links(int net_fd, mnl_cb_t take, struct names *names, struct diag *diag)
{
	char buffer[256];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *info;

	request->nlmsg_type = RTM_GETLINK;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	info = mnl_nlmsg_put_extra_header(request, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	return dump(net_fd, NETLINK_ROUTE, request, take, names, reset_names,
		    "interfaces", diag);
}

int netview_interfaces(int net_fd, char (*ret_names)[NETVIEW_NAME_SIZE], size_t max,
		       size_t *ret_count, struct diag *diag)
{
	struct names names = {ret_names, max, 0};
	int error = dump_links(net_fd, take_interface, &names, diag);

	if (!error)
		*ret_count = names.count;
	return error;
}

static int take_up(const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	struct names *names = context;

	if (info->ifi_flags & IFF_LOOPBACK || !(info->ifi_flags & IFF_UP))
		return MNL_CB_OK;
	return mnl_attr_parse(message, sizeof(*info), take_name, names);
}

int netview_find_up(int net_fd, char ret_name[NETVIEW_NAME_SIZE], struct diag *diag)
{
	char name[1][NETVIEW_NAME_SIZE] = {""};
	struct names names = {name, 1, 0};
	int error = dump_links(net_fd, take_up, &names, diag);

	if (!error)
		strcpy(ret_name, names.count ? name[0] : "");
	return error;
}

static int take_route(const struct nlmsghdr *message, void *context)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);

	if (message->nlmsg_type == RTM_NEWROUTE && route->rtm_type == RTN_UNICAST)
		*(enum netview_route *)context = NETVIEW_ROUTE_OUT;
	else if (message->nlmsg_type == RTM_NEWROUTE && route->rtm_type == RTN_LOCAL)
		*(enum netview_route *)context = NETVIEW_ROUTE_LOCAL;
	return MNL_CB_STOP;
}

static bool is_no_route(int error)
{
	switch (error) {
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -EAFNOSUPPORT:
	case -EOPNOTSUPP: /* the family is not there in this kernel */
	case -EACCES:     /* a prohibit route */
	case -EINVAL:     /* a blackhole route */
	case -EADDRNOTAVAIL:
		return true;
	}
	return false;
}

int netview_route(int net_fd, const char *address, enum netview_route *ret_route,
		  struct diag *diag)
{
	char buffer[256];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	OWN(own_fd) int fd = -1;
	struct sockaddr_storage target;
	socklen_t size;
	struct rtmsg *route;
	enum netview_route found = NETVIEW_ROUTE_NONE;
	int error;

	if (inet_parse(address, 0, &target, &size))
		return diag_fail(diag, EINVAL, "route", "not an address");
	request->nlmsg_type = RTM_GETROUTE;
	request->nlmsg_flags = NLM_F_REQUEST;
	route = mnl_nlmsg_put_extra_header(request, sizeof(*route));
	route->rtm_family = (unsigned char)target.ss_family;
	if (target.ss_family == AF_INET6) {
		route->rtm_dst_len = 128;
		mnl_attr_put(request, RTA_DST, sizeof(struct in6_addr),
			     &((struct sockaddr_in6 *)&target)->sin6_addr);
	} else {
		route->rtm_dst_len = 32;
		mnl_attr_put(request, RTA_DST, sizeof(struct in_addr),
			     &((struct sockaddr_in *)&target)->sin_addr);
	}
	error = open_netlink(net_fd, NETLINK_ROUTE, &fd, diag);
	if (error)
		return error;
	error = converse(fd, request, take_route, &found);
	if (error && !is_no_route(error))
		return diag_fail(diag, -error, "route", "cannot be asked for");
	*ret_route = error ? NETVIEW_ROUTE_NONE : found;
	return 0;
}

struct socket_count {
	struct netview_sockets sockets;
	uint64_t listener_inode;
	struct in_addr address;
	uint16_t port; /* network order */
};

/* Whether a socket bound to `address` gets what is sent to ours. */
static bool covers(const struct inet_diag_msg *socket, struct in_addr ours)
{
	static const uint32_t mapped[3] = {0, 0, 0};
	const __be32 *address = socket->id.idiag_src;

	if (socket->idiag_family == AF_INET)
		return address[0] == 0 || address[0] == ours.s_addr;
	if (memcmp(address, mapped, 2 * sizeof(*mapped)) != 0)
		return false;
	return (address[2] == htonl(0xffff) && address[3] == ours.s_addr) ||
	       (address[2] == 0 && address[3] == 0);
}

static int take_socket(const struct nlmsghdr *message, void *context)
{
	struct socket_count *count = context;
	const struct inet_diag_msg *socket = mnl_nlmsg_get_payload(message);

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*socket)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	if (socket->id.idiag_sport != count->port || !covers(socket, count->address))
		return MNL_CB_OK;
	if (socket->idiag_state == TCP_STATE_LISTEN) {
		count->sockets.listening++;
		count->listener_inode = socket->idiag_inode;
	} else {
		count->sockets.established++;
	}
	return MNL_CB_OK;
}

static void reset_count(void *context)
{
	struct socket_count *count = context;

	count->sockets = (struct netview_sockets){0, 0};
	count->listener_inode = 0;
}

static int count_family(int net_fd, int family, struct socket_count *count,
			struct diag *diag)
{
	char buffer[256];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct inet_diag_req_v2 *wanted;

	request->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	wanted = mnl_nlmsg_put_extra_header(request, sizeof(*wanted));
	memset(wanted, 0, sizeof(*wanted));
	wanted->sdiag_family = (uint8_t)family;
	wanted->sdiag_protocol = IPPROTO_TCP;
	wanted->idiag_states = 1u << TCP_STATE_ESTABLISHED | 1u << TCP_STATE_LISTEN;
	return dump(net_fd, NETLINK_SOCK_DIAG, request, take_socket, count, reset_count,
		    "sockets", diag);
}

static int count_sockets(int net_fd, const struct endpoint *local,
			 struct socket_count *ret_count, struct diag *diag)
{
	struct socket_count four = {.port = htons(local->port)}, six;
	int error;

	if (inet_pton(AF_INET, local->address, &four.address) != 1)
		return diag_fail(diag, EINVAL, "sockets", "not an IPv4 address");
	six = four;
	error = count_family(net_fd, AF_INET, &four, diag);
	if (!error)
		error = count_family(net_fd, AF_INET6, &six, diag);
	if (error)
		return error;
	four.sockets.listening += six.sockets.listening;
	four.sockets.established += six.sockets.established;
	if (six.listener_inode)
		four.listener_inode = six.listener_inode;
	*ret_count = four;
	return 0;
}

int netview_count_sockets(int net_fd, const struct endpoint *local,
			  struct netview_sockets *ret_sockets, struct diag *diag)
{
	struct socket_count count;
	int error = count_sockets(net_fd, local, &count, diag);

	if (!error)
		*ret_sockets = count.sockets;
	return error;
}

int netview_listener_inode(int net_fd, const struct endpoint *local, uint64_t *ret_inode,
			   struct diag *diag)
{
	struct socket_count count;
	int error = count_sockets(net_fd, local, &count, diag);

	if (error)
		return error;
	if (count.sockets.listening > 1)
		return diag_refuse(
			diag, "sockets",
			"several listen on the same endpoint; end all but the site's");
	*ret_inode = count.listener_inode;
	return 0;
}
