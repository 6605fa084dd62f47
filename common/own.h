/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ownership of memory and descriptors: freed when the owner leaves scope. */
#ifndef COMMON_OWN_H
#define COMMON_OWN_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Marks a local as the owner: "OWN(own_fd) int fd = -1;". */
#define OWN(function) __attribute__((cleanup(function)))

/* A byte string on the heap. `data` is NULL exactly when nothing is held; a
 * producer that reads text adds a NUL after `size` bytes, not counted. */
struct bytes {
	char *data;
	size_t size;
};

static inline void own_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline void own_bytes(struct bytes *bytes)
{
	free(bytes->data);
	bytes->data = NULL;
	bytes->size = 0;
}

/* close() is never retried: on Linux the descriptor is gone even on EINTR. */
static inline void own_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void own_file(FILE **file)
{
	if (*file)
		fclose(*file);
	*file = NULL;
}

static inline void own_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
	*directory = NULL;
}

/* Hands the descriptor over: the caller owns the result, `*fd` is -1. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Hands the bytes over: the caller owns the result, `*bytes` is empty. */
static inline struct bytes take_bytes(struct bytes *bytes)
{
	struct bytes taken = *bytes;

	bytes->data = NULL;
	bytes->size = 0;
	return taken;
}

/* Hands a pointer over: its value, with the variable set to NULL. */
#define TAKE_POINTER(variable)                                                           \
	({                                                                               \
		__typeof__(variable) taken_ = (variable);                                \
		(variable) = NULL;                                                       \
		taken_;                                                                  \
	})

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
