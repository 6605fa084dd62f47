// SPDX-License-Identifier: GPL-2.0-or-later
// Telling the service manager how a service is: sd_notify(3)'s protocol.
#include "common/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/number.h"
#include "common/own.h"

int notify_open(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path ? strlen(path) : 0;
	OWN(own_fd) int fd = -1;

	/* A path, or a name that begins with '@' for a NUL: unix(7). */
	if (length < 2 || length >= sizeof(address.sun_path) ||
	    (path[0] != '/' && path[0] != '@'))
		return -1;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) != 0)
		return -1;
	return take_fd(&fd);
}

void notify_send(int fd, const char *state)
{
	if (fd >= 0)
		(void)send(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT);
}

int64_t notify_watchdog_ms(void)
{
	const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t us, number;

	if (!period || number_parse(period, 2000, INT64_MAX, &us) != 0)
		return 0;
	/* Meant for another process that handed its environment on. */
	if (pid && (number_parse(pid, 1, INT32_MAX, &number) != 0 ||
		    number != (uint64_t)getpid()))
		return 0;
	return (int64_t)(us / 2000);
}
