// SPDX-License-Identifier: GPL-2.0-or-later
// A candidate that is none of ours: says who it is, connects, sends a word.
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	/* Behind slirp4netns a rejected connection is one that nobody answers. */
	const struct timeval patience = {.tv_sec = 5};
	int fd;

	printf("uid %u\n", getuid());
	fflush(stdout);
	if (argc == 1) {
		pause();
		return 0;
	}
	if (argc != 3 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1)
		return 2;
	address.sin_port = htons((in_port_t)strtoul(argv[2], NULL, 10));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    write(fd, "candidate", 9) != 9) {
		printf("%s\n", strerror(errno));
		return 1;
	}
	printf("connected\n");
	return 0;
}
