# net-site, and the templates that are part of it.
programs += net-site
net-site_sources := \
	policy/net-site/installed.c \
	policy/net-site/main.c \
	policy/net-site/templates.c \
	policy/net-site/tree.c \
	policy/net-site/units.c
net-site_archives := policy common
net-site_libraries := jansson nettle

unit_templates := \
	systemd/engine.service.in \
	systemd/guard.service.in \
	systemd/nftables-guard.conf.in \
	systemd/proxy.service.in \
	systemd/sysusers.conf.in \
	systemd/tmpfiles.conf.in \
	systemd/user-guard.conf.in \
	systemd/worker.service.in

# The assembler includes them, which no compiler notes as a dependency.
$(BUILD)/obj/policy/net-site/templates.o: $(unit_templates)

unit_tests += test_render
test_render_sources := tests/unit/test_render.c
test_render_archives := policy common
test_render_libraries := jansson nettle

tests += site:tests/site/test_site.py
tests += lab:tests/site/test_in_lab.py
