// SPDX-License-Identifier: GPL-2.0-or-later
// Which machine, boot and kernel a document is about.
#include "policy/host.h"

#include <errno.h>
#include <string.h>

#define MACHINE_ID_LENGTH (HOST_MACHINE_ID_SIZE - 1)

static bool is_hex(char character)
{
	return (character >= '0' && character <= '9') ||
	       (character >= 'a' && character <= 'f');
}

/* As in /proc/sys/kernel/random/boot_id: a UUID in the form of RFC 9562, 4. */
static bool is_boot_id(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (strlen(text) != sizeof(form) - 1)
		return false;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == '-' ? text[i] != '-' : !is_hex(text[i]))
			return false;
	return true;
}

const struct json_rule host_boot_id_rule = {"a boot id in the kernel's dashed form",
					    is_boot_id};

static const struct json_field fields[] = {
	{JSON_DIGEST(struct host, machine_id_sha256)},
	{JSON_TEXT(struct host, boot_id, 1, &host_boot_id_rule)},
	{JSON_TEXT(struct host, kernel, 1, &json_rule_ascii)},
};

const struct json_table host_table = JSON_TABLE(struct host, fields);

int host_machine_id_digest(const char *machine_id, char ret_sha256[DIGEST_TEXT_SIZE])
{
	size_t length = strcspn(machine_id, "\n");

	if (length != MACHINE_ID_LENGTH || (machine_id[length] && machine_id[length + 1]))
		return -EINVAL;
	for (size_t i = 0; i < length; i++)
		if (!is_hex(machine_id[i]))
			return -EINVAL;
	digest_bytes(machine_id, length, ret_sha256);
	return 0;
}
