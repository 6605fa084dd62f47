// SPDX-License-Identifier: GPL-2.0-or-later
// The templates of systemd/, as they were when the program was built.
#include "policy/net-site/templates.h"

/* The assembler reads the file, from the folder `make` runs in; systemd/sources.mk
 * says that this object depends on it. */
#define EMBED(symbol, file)                                                              \
	__asm__(".pushsection .rodata.template, \"a\"\n"                                 \
		"template_" #symbol ":\n"                                                \
		".incbin \"systemd/" file "\"\n"                                         \
		"template_" #symbol "_end:\n"                                            \
		".byte 0\n"                                                              \
		".popsection\n");                                                        \
	extern const char template_##symbol[] __attribute__((visibility("hidden")));     \
	extern const char template_##symbol##_end[] __attribute__((visibility("hidde"    \
									      "n")))

EMBED(guard, "guard.service.in");
EMBED(worker, "worker.service.in");
EMBED(proxy, "proxy.service.in");
EMBED(engine, "engine.service.in");
EMBED(user_guard, "user-guard.conf.in");
EMBED(nftables_guard, "nftables-guard.conf.in");
EMBED(sysusers, "sysusers.conf.in");
EMBED(tmpfiles, "tmpfiles.conf.in");

#define TEMPLATE(symbol, file, path_)                                                    \
	{                                                                                \
		.name = (file), .path = (path_), .start = template_##symbol,             \
		.end = template_##symbol##_end                                           \
	}

/* The user manager requires the guard, and so does the slice around it, in which
 * the sessions lie. */
const struct template templates[TEMPLATES_COUNT] = {
	TEMPLATE(guard, "guard.service.in", "systemd/system/@guard_unit@"),
	TEMPLATE(worker, "worker.service.in", "systemd/system/@worker_unit@"),
	TEMPLATE(proxy, "proxy.service.in", "systemd/system/@proxy_unit@"),
	TEMPLATE(engine, "engine.service.in", "systemd/user/@engine_unit@"),
	TEMPLATE(user_guard, "user-guard.conf.in",
		 "systemd/system/user@@uid@.service.d/10-@name@.conf"),
	TEMPLATE(user_guard, "user-guard.conf.in",
		 "systemd/system/user-@uid@.slice.d/10-@name@.conf"),
	TEMPLATE(nftables_guard, "nftables-guard.conf.in",
		 "systemd/system/nftables.service.d/10-@name@.conf"),
	TEMPLATE(sysusers, "sysusers.conf.in", "sysusers.d/@name@.conf"),
	TEMPLATE(tmpfiles, "tmpfiles.conf.in", "tmpfiles.d/@name@.conf"),
};
