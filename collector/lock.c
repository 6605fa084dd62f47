// SPDX-License-Identifier: GPL-2.0-or-later
// The collector's own folder, and one collection at a time.
#include "collector/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/own.h"
#include "common/protected.h"

int lock_open_folder(int *ret_fd, struct diag *diag)
{
	if (mkdir(LOCK_FOLDER, 0700) != 0 && errno != EEXIST)
		return diag_fail(diag, errno, LOCK_FOLDER, "cannot be made");
	return protected_open_directory(LOCK_FOLDER, 0, PROTECTED_PRIVATE, ret_fd, diag);
}

int lock_take(int folder_fd, int *ret_fd, struct diag *diag)
{
	OWN(own_fd)
	int fd = openat(folder_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			0600);

	if (fd < 0)
		return diag_fail(diag, errno, LOCK_FOLDER "/lock", "cannot be opened");
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK
			       ? diag_refuse(diag, NULL,
					     "busy: another collection is running; "
					     "wait for its end")
			       : diag_fail(diag, errno, LOCK_FOLDER "/lock",
					   "cannot be taken");
	*ret_fd = take_fd(&fd);
	return 0;
}
