// SPDX-License-Identifier: GPL-2.0-or-later
// dns: one question to the first IPv4 resolver.
//
// syscalls: pread64 getrandom socket connect sendto recvfrom epoll_ctl close
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/dns.h"
#include "agent/probe.h"
#include "common/own.h"

#define DNS_PORT 53 /* RFC 1035, 4.2.1 */

/* The file was opened before the confinement, and is read again for each question. */
static int find_resolver(const struct agent *agent, struct sockaddr_in *ret_server)
{
	char text[DNS_RESOLVER_FILE_MAX];
	ssize_t got;
	int error;

	if (agent->resolver_fd < 0)
		return -ENOENT;
	got = pread(agent->resolver_fd, text, sizeof(text), 0);
	if (got < 0)
		return -errno;
	*ret_server =
		(struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(DNS_PORT)};
	error = dns_resolver_find(text, (size_t)got, &ret_server->sin_addr);
	return error;
}

static void finish_lookup(struct probe *probe, struct agent *agent, int error)
{
	/* It answered, if nonsense: whatever comes after that is no denial. */
	if (probe->dns.has_stray)
		probe_finish(probe, agent, OUTCOME_PROBE_ERROR, error);
	else
		probe_fail(probe, agent, error);
}

static void dns_ready(struct probe *probe, struct agent *agent)
{
	uint8_t data[DNS_ANSWER_MAX];
	ssize_t got;

	while (!probe->is_done) {
		got = recv(probe->fd, data, sizeof(data), MSG_DONTWAIT);
		if (got < 0 && errno == EAGAIN)
			return;
		if (got < 0) {
			finish_lookup(probe, agent, errno);
			return;
		}
		switch (dns_answer_judge(&probe->dns.question, data, (size_t)got)) {
		case DNS_STRAY:
			/* The right one may still come. */
			probe->dns.has_stray = true;
			break;
		case DNS_REACHED:
			probe_finish(probe, agent, OUTCOME_CONNECTED, 0);
			break;
		case DNS_REFUSED:
			probe_finish(probe, agent, OUTCOME_REFUSED, 0);
			break;
		case DNS_OTHER:
			probe_finish(probe, agent, OUTCOME_PROBE_ERROR, 0);
			break;
		}
	}
}

static void dns_late(struct probe *probe, struct agent *agent)
{
	dns_ready(probe, agent);
	if (!probe->is_done)
		finish_lookup(probe, agent, ETIMEDOUT);
}

static int start_dns(struct probe *probe, struct agent *agent, struct diag *diag)
{
	const struct dns_question *question = &probe->dns.question;
	struct sockaddr_in server;
	uint16_t id;
	int error = find_resolver(agent, &server);

	(void)diag;
	probe->family = AF_INET;
	if (!error && getrandom(&id, sizeof(id), 0) != sizeof(id))
		error = -EIO;
	if (error) {
		probe_finish(probe, agent, OUTCOME_PROBE_ERROR, -error);
		return 0;
	}
	dns_question_write(probe->request.target, id, &probe->dns.question);
	probe->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* Connected: answers from elsewhere are not ours, and errors reach us. */
	if (probe->fd < 0 ||
	    connect(probe->fd, (struct sockaddr *)&server, sizeof(server)) != 0 ||
	    send(probe->fd, question->bytes, question->size, MSG_NOSIGNAL) < 0)
		probe_fail(probe, agent, errno);
	else
		probe_wait(probe, agent, EPOLLIN);
	return 0;
}

const struct probe_steps dns_steps = {start_dns, dns_ready, dns_late};
