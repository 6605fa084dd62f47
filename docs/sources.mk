# The manual, and what the programs' help is made into: shell completion.
manual_pages := \
	net-agent.1 \
	net-collector.8 \
	net-once.1 \
	net-policy.8 \
	net-preflight.8 \
	net-probe.1 \
	net-proxy.8 \
	net-site.8 \
	net-verify.1

# Each a page NAME.md with a schema beside it, and netproof-NAME(5); "store" is a folder
# and has no schema.
formats := agent catalog collection endpoints plan preflight profile record release report \
	review site site_check store store_check targets undecided

manual := \
	$(foreach p,$(manual_pages),$(BUILD)/man/man$(patsubst .%,%,$(suffix $(p)))/$(p)) \
	$(foreach f,$(formats),$(BUILD)/man/man5/netproof-$(subst _,-,$(f)).5)

.PHONY: manual
manual: $(manual)
$(BUILD)/man/man1/%.1: docs/man/%.1
	@install -D -m 644 $< $@
$(BUILD)/man/man8/%.8: docs/man/%.8
	@install -D -m 644 $< $@
define format_page
$(BUILD)/man/man5/netproof-$(subst _,-,$(1)).5: docs/formats/$(1).md docs/make-format-page \
		debian/changelog
	@mkdir -p $$(@D)
	@docs/make-format-page $$< >$$@
endef
$(foreach f,$(formats),$(eval $(call format_page,$(f))))

documented := $(programs) net-agent net-once
completions := $(foreach p,$(documented),\
	$(BUILD)/completion/bash/$(p) $(BUILD)/completion/zsh/_$(p))

.PHONY: completions
completions: $(completions)
$(BUILD)/completion/bash/%: $(BUILD)/bin/% docs/make-completion
	@mkdir -p $(@D)
	@docs/make-completion bash $< >$@
$(BUILD)/completion/zsh/_%: $(BUILD)/bin/% docs/make-completion
	@mkdir -p $(@D)
	@docs/make-completion zsh $< >$@

# Made anew each time: any source may have another refusal.
.PHONY: troubleshooting
troubleshooting: $(BUILD)/docs/troubleshooting.md
$(BUILD)/docs/troubleshooting.md: FORCE
	@mkdir -p $(@D)
	@docs/make-troubleshooting >$@

tests += docs:tests/docs/test_completion.py
tests += docs:tests/docs/test_pages.py
tests += policy:tests/docs/test_capabilities.py
tests += lab@1200:tests/docs/test_readme.py
