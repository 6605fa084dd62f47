// SPDX-License-Identifier: GPL-2.0-or-later
// The verifier gives up everything but reading files.
#include "verifier/confine.h"

#include <fcntl.h>

#include "common/own.h"
#include "common/sandbox.h"

#define ANY(name_)                                                                       \
	{                                                                                \
		.number = SCMP_SYS(name_)                                                \
	}
/* Only if none of `bits` is set in the argument `index_`. */
#define WITHOUT(name_, index_, bits_)                                                    \
	{                                                                                \
		.number = SCMP_SYS(name_), .condition_count = 1, .conditions = {         \
			SCMP_CMP((index_), SCMP_CMP_MASKED_EQ, (bits_), 0)               \
		}                                                                        \
	}

static const struct sandbox_call calls[] = {
	/* Opening for reading, and looking. openat2's flags lie in memory, where a
	 * filter cannot look; common/protected and common/store open with O_RDONLY. */
	WITHOUT(openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC),
	ANY(openat2),
	ANY(newfstatat),
	ANY(fstat),
	ANY(statx),
	ANY(getdents64),
	ANY(lseek),
	ANY(read),
	ANY(pread64),
	ANY(close),
	ANY(fcntl),
	/* Printing: the output was opened by whoever started us. */
	ANY(write),
	ANY(writev),
	ANY(ioctl),
	/* Memory. */
	ANY(brk),
	ANY(mmap),
	ANY(munmap),
	ANY(mremap),
	ANY(mprotect),
	ANY(madvise),
	/* jansson seeds its hash tables from the clock, the process id and random
	 * bytes. */
	ANY(getrandom),
	ANY(getpid),
	ANY(gettimeofday),
	ANY(clock_gettime),
	ANY(geteuid),
	ANY(futex),
	ANY(restart_syscall),
	ANY(rt_sigreturn),
	ANY(rt_sigaction),
	ANY(rt_sigprocmask),
	ANY(exit),
	ANY(exit_group),
};

int confine_verifier(struct diag *diag)
{
	int error = sandbox_drop_privileges(diag);

	if (!error && !SANDBOX_IS_SANITIZED)
		error = sandbox_filter(calls, ARRAY_SIZE(calls), diag);
	return error;
}
