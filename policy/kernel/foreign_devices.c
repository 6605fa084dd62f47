// SPDX-License-Identifier: GPL-2.0-or-later
// Traffic control and XDP on the devices of the namespace.
#include "policy/kernel/foreign.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "common/own.h"
#include "policy/kernel/rtnl.h"

/*
 * Queueing disciplines that only queue are harmless and not even listed: devices
 * come and go. Those with classes are not known to be. Any filter on any of them
 * may redirect, copy or rewrite, and so refuses; so does any XDP program.
 */

/* linux/net/sched: they hold or drop packets, and do nothing else to them. */
static const char *const plain_queues[] = {
	"noqueue",
	"noop",
	"pfifo",
	"bfifo",
	"pfifo_fast",
	"pfifo_head_drop",
	"mq",
	"fq",
	"fq_codel",
	"codel",
	"fq_pie",
	"pie",
	"sfq",
	"sfb",
	"tbf",
	"cake",
	"red",
	"gred",
	"choke",
	"hhf",
	/* Places for filters, which are asked for one by one. */
	"ingress",
	"clsact",
};

/* Where filters may hang on a device. */
struct place {
	int device;
	uint32_t parent;
};

struct context {
	struct foreign *foreign;
	struct place *places;
	size_t place_count, place_room;
	size_t before; /* items, when the dump began */
	const char *device_name;
	struct diag *diag;
};

static void release_places(struct context *context)
{
	free(context->places);
	context->places = NULL;
}

static void start(void *context)
{
	struct context *reading = context;

	reading->foreign->count = reading->before;
}

static void start_places(void *context)
{
	struct context *reading = context;

	start(context);
	reading->place_count = 0;
}

static int add_place(struct context *context, int device, uint32_t parent)
{
	struct place *grown;

	if (context->place_count == context->place_room) {
		size_t room = context->place_room ? 2 * context->place_room : 64;

		grown = reallocarray(context->places, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		context->places = grown;
		context->place_room = room;
	}
	context->places[context->place_count++] = (struct place){device, parent};
	return 0;
}

static const char *name_of(int device, char name[IF_NAMESIZE])
{
	if (!if_indextoname((unsigned int)device, name))
		snprintf(name, IF_NAMESIZE, "#%d", device); /* gone meanwhile */
	return name;
}

static int add_item(struct context *context, int device, const char *what,
		    const char *kind, const char *harm)
{
	char name[FOREIGN_NAME_SIZE], device_name[IF_NAMESIZE];

	snprintf(name, sizeof(name), "%s %s on %s", what, kind,
		 name_of(device, device_name));
	return foreign_add(context->foreign, name, kind, strlen(kind), harm,
			   context->diag);
}

static bool is_plain(const char *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain_queues); i++)
		if (strcmp(kind, plain_queues[i]) == 0)
			return true;
	return false;
}

static int take_qdisc(const struct nlmsghdr *message, void *context)
{
	struct attributes rest = rtnl_attributes(message, sizeof(struct tcmsg));
	struct attribute attribute;
	const char *kind = NULL;
	bool is_shared = false;
	struct tcmsg header;
	int error;

	if (message->nlmsg_type != RTM_NEWQDISC || !rest.data)
		return -EBADMSG;
	memcpy(&header, NLMSG_DATA(message), sizeof(header));
	while (attribute_next(&rest, &attribute)) {
		if (attribute.type == TCA_KIND)
			kind = attribute_string(&attribute);
		if (attribute.type == TCA_INGRESS_BLOCK ||
		    attribute.type == TCA_EGRESS_BLOCK)
			is_shared = true;
	}
	if (!kind)
		return -EBADMSG;
	if (!is_plain(kind) || is_shared)
		return add_item(context, header.tcm_ifindex, "traffic control", kind,
				is_shared ? "filters shared between devices"
					  : "a queueing discipline that is not known to "
					    "only queue");
	/* The root's filters hang on parent 0, whatever its handle is. */
	error = add_place(context, header.tcm_ifindex, 0);
	if (!error && header.tcm_handle)
		error = add_place(context, header.tcm_ifindex, header.tcm_handle);
	if (!error && header.tcm_parent == TC_H_CLSACT) {
		error = add_place(context, header.tcm_ifindex,
				  TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS));
		if (!error)
			error = add_place(context, header.tcm_ifindex,
					  TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS));
	}
	return error;
}

static int take_filter(const struct nlmsghdr *message, void *context)
{
	struct attributes rest = rtnl_attributes(message, sizeof(struct tcmsg));
	struct attribute attribute;
	const char *kind = NULL;
	struct tcmsg header;

	/* RTM_NEWCHAIN and others do not come from this dump. */
	if (message->nlmsg_type != RTM_NEWTFILTER || !rest.data)
		return -EBADMSG;
	memcpy(&header, NLMSG_DATA(message), sizeof(header));
	while (attribute_next(&rest, &attribute))
		if (attribute.type == TCA_KIND)
			kind = attribute_string(&attribute);
	return add_item(context, header.tcm_ifindex, "traffic control filter",
			kind ? kind : "?",
			"a filter that may redirect, copy or change packets");
}

static int read_filters(struct context *context, const struct place *place)
{
	struct tcmsg header = {.tcm_family = AF_UNSPEC,
			       .tcm_ifindex = place->device,
			       .tcm_parent = place->parent};
	struct diag failed = {0};
	int error;

	context->before = context->foreign->count;
	error = rtnl_dump(RTM_GETTFILTER, &header, sizeof(header), start, take_filter,
			  context, "traffic control filters", &failed);
	/* The device is gone, or this discipline takes no filters. */
	if (error == -ENODEV || error == -EOPNOTSUPP || error == -EINVAL ||
	    error == -ENOENT)
		return 0;
	if (error)
		return diag_fail(context->diag, 0, failed.place, "%s", failed.text);
	return 0;
}

static bool is_xdp_attached(const struct attribute *xdp)
{
	struct attributes rest = attribute_inside(xdp);
	struct attribute attribute;

	while (attribute_next(&rest, &attribute))
		if (attribute.type == IFLA_XDP_ATTACHED)
			return attribute.size != 1 ||
			       attribute.data[0] != XDP_ATTACHED_NONE;
	return rest.size != 0;
}

static int take_link(const struct nlmsghdr *message, void *context)
{
	struct attributes rest = rtnl_attributes(message, sizeof(struct ifinfomsg));
	struct attribute attribute;
	struct ifinfomsg header;
	int error = 0;

	if (message->nlmsg_type != RTM_NEWLINK || !rest.data)
		return -EBADMSG;
	memcpy(&header, NLMSG_DATA(message), sizeof(header));
	while (!error && attribute_next(&rest, &attribute))
		if (attribute.type == IFLA_XDP && is_xdp_attached(&attribute))
			error = add_item(context, header.ifi_index, "XDP", "program",
					 "a program that may drop, change or redirect "
					 "packets before any rule");
	return error;
}

int foreign_read_devices(struct foreign *foreign, struct diag *diag)
{
	OWN(release_places)
	struct context context = {
		.foreign = foreign, .before = foreign->count, .diag = diag};
	struct ifinfomsg links = {.ifi_family = AF_UNSPEC};
	struct tcmsg queues = {.tcm_family = AF_UNSPEC};
	int error = rtnl_dump(RTM_GETLINK, &links, sizeof(links), start, take_link,
			      &context, "network devices", diag);

	if (error)
		return error;
	context.before = foreign->count;
	error = rtnl_dump(RTM_GETQDISC, &queues, sizeof(queues), start_places, take_qdisc,
			  &context, "traffic control", diag);
	for (size_t i = 0; !error && i < context.place_count; i++)
		error = read_filters(&context, &context.places[i]);
	return error;
}
