/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which machine, boot and kernel a document is about. */
#ifndef POLICY_HOST_H
#define POLICY_HOST_H

#include "common/digest.h"
#include "common/json_table.h"

#define HOST_BOOT_ID_SIZE 37 /* "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" and a NUL */
#define HOST_KERNEL_SIZE 65  /* uname's release, at most 64 bytes */
#define HOST_MACHINE_ID_SIZE 33

struct host {
	char machine_id_sha256[DIGEST_TEXT_SIZE];
	char boot_id[HOST_BOOT_ID_SIZE]; /* the kernel's dashed form */
	char kernel[HOST_KERNEL_SIZE];   /* uname -r */
};

extern const struct json_table host_table;
extern const struct json_rule host_boot_id_rule;

/* Digest of a machine id: of its 32 hexadecimal characters, without newline.
 * Returns -EINVAL if `machine_id` is not that (a newline at its end is allowed). */
int host_machine_id_digest(const char *machine_id, char ret_sha256[DIGEST_TEXT_SIZE]);

#endif
