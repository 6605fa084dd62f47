# SPDX-License-Identifier: GPL-2.0-or-later
# netproof's build. Each folder lists its own sources, programs and tests in its
# sources.mk; nothing is found by wildcard.
#
#   make                 every program, in build/bin
#   make test            install what is missing, build, run every test
#   make demo            the main job, in a throwaway lab
#   make check           every test, on what is built and installed
#   make check ONLY=TEXT only the tests whose line contains TEXT
#   make bench           figures as one JSON object
#   make help            all targets
#
# Variants: CC=clang BUILD=build/clang, SANITIZE=address,undefined BUILD=build/asan,
# TEST_CLOCK=1 BUILD=build/clock.

.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
WERROR ?= $(if $(CI),1,)
SANITIZE ?=
TEST_CLOCK ?=
ONLY ?=
ifeq ($(origin CC),default)
CC := gcc
endif

.PHONY: all
all: programs

# --- flags --------------------------------------------------------------------

# $(call probe,FLAGS): FLAGS where the compiler takes them, else nothing.
probe = $(shell echo 'int main(void) { return 0; }' | \
	$(CC) -Werror $(1) -x c -o /dev/null - 2>/dev/null && echo '$(1)')

hardening := -fPIE -fstack-protector-strong $(if $(SANITIZE),,-D_FORTIFY_SOURCE=3) \
	$(call probe,-fstack-clash-protection) $(call probe,-fcf-protection=full) \
	$(call probe,-ftrivial-auto-var-init=zero)
warnings := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wformat=2 \
	-Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef \
	$(if $(WERROR),-Werror)

# Nothing of where or when it was built may reach a binary.
reproducible := -ffile-prefix-map=$(CURDIR)/= -Wdate-time
sanitizers := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer)

CPPFLAGS := -I. -D_GNU_SOURCE $(if $(TEST_CLOCK),-DNETPROOF_TEST_CLOCK) $(CPPFLAGS)
CFLAGS := -std=gnu11 -O2 -g $(hardening) $(warnings) $(reproducible) $(sanitizers) \
	-ffunction-sections -fdata-sections $(CFLAGS)
link_flags := -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed,--gc-sections \
	-Wl,--build-id=none $(sanitizers) $(LDFLAGS)

packages := jansson nettle libmnl libnftables libcap-ng libseccomp libsystemd
CPPFLAGS += $(shell pkg-config --cflags $(packages) 2>/dev/null)

# --- what there is ------------------------------------------------------------
# A sources.mk adds to:
#   programs                 names; each with NAME_sources, NAME_archives and
#                            NAME_libraries (pkg-config names), NAME_static = 1
#   archives                 names; each with NAME_sources; build/lib/libNAME.a
#   unit_tests, fuzz_targets names; each with NAME_sources, _archives, _libraries
#   test_programs            like programs: helpers that only tests run
#   tests                    lines for tests/run: KIND:COMMAND
#   benches                  commands, each printing one JSON object

programs :=
archives :=
unit_tests :=
fuzz_targets :=
test_programs :=
tests :=
benches :=

include common/sources.mk
-include $(wildcard agent/sources.mk policy/sources.mk policy/kernel/sources.mk \
	collector/sources.mk verifier/sources.mk proxy/sources.mk systemd/sources.mk \
	tests/lab/sources.mk tests/faults/sources.mk docs/sources.mk)
include tests/sources.mk

# --- rules --------------------------------------------------------------------

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

define archive_rule
$(BUILD)/lib/lib$(1).a: $(call objects,$($(1)_sources))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(AR) rcsD $$@ $$^
all_sources += $($(1)_sources)
endef

# $(1) name, $(2) folder in the build, $(3) further flags
define program_rule
$(BUILD)/$(2)/$(1): $(call objects,$($(1)_sources)) \
		$(patsubst %,$(BUILD)/lib/lib%.a,$($(1)_archives))
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $(if $(and $($(1)_static),$(if $(SANITIZE),,yes)),-static-pie,-pie) \
		$(link_flags) $(3) -o $$@ $$^ \
		$$(shell pkg-config $(if $($(1)_static),--static) --libs $($(1)_libraries) \
		2>/dev/null)
all_sources += $($(1)_sources)
endef

all_sources :=
$(foreach a,$(archives),$(eval $(call archive_rule,$(a))))
$(foreach p,$(programs),$(eval $(call program_rule,$(p),bin,)))
$(foreach p,$(test_programs),$(eval $(call program_rule,$(p),tests,)))
$(foreach t,$(unit_tests),$(eval $(t)_libraries += cmocka))
$(foreach t,$(unit_tests),$(eval $(call program_rule,$(t),tests,)))
$(foreach f,$(fuzz_targets),$(eval $(call program_rule,$(f),fuzz,-fsanitize=fuzzer)))

.PHONY: programs test-programs fuzz-programs
programs: $(addprefix $(BUILD)/bin/,$(programs))
test-programs: $(addprefix $(BUILD)/tests/,$(unit_tests) $(test_programs))
fuzz-programs: $(addprefix $(BUILD)/fuzz/,$(fuzz_targets))

-include $(patsubst %.o,%.d,$(call objects,$(sort $(all_sources))))

# --- tests --------------------------------------------------------------------

.PHONY: deps test check asan fuzz bench lint static-check repro-check
deps:
	@tests/deps

test: deps
	@$(MAKE) check

# The variants that the tests use are built first: everything with gcc, again
# with clang, and with the sanitizers.
.PHONY: variants
variants:
	@$(MAKE) --silent all test-programs WERROR=1
	@$(MAKE) --silent all test-programs CC=clang BUILD=build/clang WERROR=1
	@$(MAKE) --silent all test-programs BUILD=build/asan SANITIZE=address,undefined WERROR=1
	@$(MAKE) --silent all test-programs BUILD=build/clock TEST_CLOCK=1 WERROR=1
	@$(MAKE) --silent fuzz-programs CC=clang BUILD=build/fuzz \
		SANITIZE=fuzzer-no-link,address,undefined

check: variants
	@tests/run --only '$(ONLY)' $(foreach t,$(tests),'$(subst |, ,$(t))')

asan: variants
	@tests/run --only '|asan' $(foreach t,$(tests),'$(subst |, ,$(t))')

# Each fuzz target for FUZZ_SECONDS.
FUZZ_SECONDS ?= 600
fuzz:
	@$(MAKE) --silent fuzz-programs CC=clang BUILD=build/fuzz \
		SANITIZE=fuzzer-no-link,address,undefined
	@for target in $(fuzz_targets); do \
		tests/fuzz/run $$target -max_total_time=$(FUZZ_SECONDS) || exit 1; done

bench: all test-programs
	@tests/bench $(foreach b,$(benches),'$(subst |, ,$(b))')

lint:
	@tests/checks/format
	@tests/checks/layers
	@tests/checks/tidy
	@tests/checks/cppcheck

static-check: all
	@tests/checks/static $(BUILD)/bin/net-probe

repro-check:
	@tests/checks/reproducible

# For the checks: what is compiled, and with which flags.
.PHONY: print-sources print-cflags
print-sources:
	@printf '%s\n' $(sort $(all_sources))
print-cflags:
	@echo '$(CPPFLAGS) -std=gnu11'

.PHONY: clean help
clean:
	rm -rf build out

help:
	@sed -n '5,13s/^# *//p' Makefile
	@echo 'asan fuzz lint static-check repro-check clean'

.PHONY: print-unit-tests
print-unit-tests:
	@printf '%s\n' $(addprefix $(BUILD)/tests/,$(unit_tests))
