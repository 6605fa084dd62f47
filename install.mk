# make install: the release, and what an operator, man(1), a shell and systemd look for.
#
#   make install DESTDIR=/tmp/x PREFIX=/usr      tests/install/files lists what that is
#
# The GNU directory variables hold. Two defaults are not GNU's: configuration is in
# /etc whatever the prefix, where the manual says it is, and libexecdir is lib, so that
# PREFIX=/usr gives the site file's own default, install_dir /usr/lib/netproof.
# Nothing is enabled, started or created on the host beyond files.

prefix ?= $(PREFIX)
exec_prefix ?= $(prefix)
bindir ?= $(exec_prefix)/bin
sbindir ?= $(exec_prefix)/sbin
libexecdir ?= $(exec_prefix)/lib
sysconfdir ?= /etc
datarootdir ?= $(prefix)/share
datadir ?= $(datarootdir)
mandir ?= $(datarootdir)/man
docdir ?= $(datarootdir)/doc/netproof
# systemd reads units, sysusers.d and tmpfiles.d below /usr/local/lib, too.
unitdir ?= $(prefix)/lib/systemd/system
sysusersdir ?= $(prefix)/lib/sysusers.d
tmpfilesdir ?= $(prefix)/lib/tmpfiles.d
bashcompletiondir ?= $(datadir)/bash-completion/completions
zshcompletiondir ?= $(datadir)/zsh/site-functions

# All programs lie together, where root alone can write: the digests in release.json
# are of these files. On the PATH are links to them.
programdir = $(libexecdir)/netproof
user_commands := net-agent net-once net-probe net-verify
root_commands := net-collector net-policy net-preflight net-proxy net-site
release_documents := candidate-image.tar catalog.json release.json targets.json
# What the default site is rendered to, but for what carries a uid, belongs to another
# package or is the workload user's: that is `net-site render`'s, on the host.
default_units := netproof-guard.service netproof-proxy.service netproof-worker.service
documents := README.md docs/capabilities.md docs/design.md docs/threat-model.md \
	$(BUILD)/docs/troubleshooting.md

# $(call into,DIR,MODE,FILES)
into = install -d '$(DESTDIR)$(1)' && install -m $(2) $(3) '$(DESTDIR)$(1)'
# $(call placed,SOURCE,TARGET): a text, with the places as they are here.
placed = install -D -m 644 $(1) '$(DESTDIR)$(strip $(2))' && sed -i \
	-e 's|/usr/lib/netproof|$(programdir)|g' -e 's|/etc/netproof|$(sysconfdir)/netproof|g' \
	-e 's|/usr/share/doc/netproof|$(docdir)|g' '$(DESTDIR)$(strip $(2))'
# $(call links,DIR,NAMES)
links = install -d '$(DESTDIR)$(1)' && for name in $(2); do \
	ln -sfn "$$(realpath -ms --relative-to='$(1)' '$(programdir)')/$$name" \
		'$(DESTDIR)$(1)'/$$name || exit 1; done

.PHONY: install
install: release manual completions troubleshooting
	@$(call into,$(programdir),755,$(addprefix $(RELEASE_OUT)/,$(programs)))
	@ln -sfn net-probe '$(DESTDIR)$(programdir)/net-agent'
	@ln -sfn net-probe '$(DESTDIR)$(programdir)/net-once'
	@$(call into,$(programdir),644,$(addprefix $(RELEASE_OUT)/,$(release_documents)))
	@$(call links,$(bindir),$(user_commands))
	@$(call links,$(sbindir),$(root_commands))
	@$(call placed,fixtures/sites/installed.json,$(sysconfdir)/netproof/site.json)
	@$(foreach u,$(default_units),$(call placed,\
		fixtures/units/netproof/systemd/system/$(u),$(unitdir)/$(u)) &&) :
	@$(call placed,fixtures/units/netproof/tmpfiles.d/netproof.conf,\
		$(tmpfilesdir)/netproof.conf)
	@$(call placed,fixtures/units/netproof/sysusers.d/netproof.conf,\
		$(sysusersdir)/netproof.conf)
	@# Which uid is free, the host says.
	@sed -i 's/^u netproof 990 /u netproof - /' '$(DESTDIR)$(sysusersdir)/netproof.conf'
	@$(foreach m,$(manual),$(call placed,$(m),\
		$(mandir)/$(notdir $(patsubst %/,%,$(dir $(m))))/$(notdir $(m))) &&) :
	@$(call into,$(bashcompletiondir),644,$(filter $(BUILD)/completion/bash/%,$(completions)))
	@$(call into,$(zshcompletiondir),644,$(filter $(BUILD)/completion/zsh/%,$(completions)))
	@$(call into,$(docdir),644,$(documents) COPYING)
	@$(call into,$(docdir)/formats,644,$(formats:%=docs/formats/%.md) \
		$(patsubst %,docs/formats/%.schema.json,$(filter-out store,$(formats))))
	@$(call into,$(docdir)/examples,644,fixtures/sites/ditto-coding-hosted.json)

tests += docs:tests/install/test_install.py
tests += lab@1200:tests/deb/test_deb.py

# make deb: the Debian packages, in DEB_OUT, from the files of this tree and no other.
# A tree with changes is no commit: see `make release`.
DEB_OUT ?= out/deb
deb_version = $(shell sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
deb_source = $(BUILD)/deb/netproof-$(deb_version)

.PHONY: deb
deb:
	@[ -n '$(SOURCE_REVISION)' ] || [ -z "$$(git status --porcelain)" ] || { \
		echo 'deb: the tree has changes: commit them, or give SOURCE_REVISION' >&2; \
		exit 1; }
	@rm -rf '$(BUILD)/deb' && mkdir -p '$(deb_source)' '$(DEB_OUT)'
	@git ls-files -z -co --exclude-standard | \
		xargs -0 cp --parents --no-dereference -t '$(deb_source)'
	@cd '$(deb_source)' && SOURCE_REVISION=$(or $(SOURCE_REVISION),$$(git rev-parse HEAD)) \
		dpkg-buildpackage --build=binary --unsigned-source --unsigned-changes \
		>../log 2>&1 || { tail -n 40 ../log >&2; exit 1; }
	@rm -f '$(DEB_OUT)'/netproof* && mv '$(BUILD)'/deb/netproof*_* '$(DEB_OUT)'
