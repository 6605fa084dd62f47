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
#   make release         what is installed, and its release.json
#   make install         it, below DESTDIR, for PREFIX
#   make deb             Debian packages, in out/deb
#   make help            all targets
#
# Variants: CC=clang BUILD=build/clang, SANITIZE=address,undefined BUILD=build/asan,
# TEST_CLOCK=1 BUILD=build/clock.

.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:

# Every processor, unless the command line says how many or another make shares
# its own. (Inside a recipe: only there GNU make 4.3 shows its -j.)
parallel = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

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
	$(CC) -Werror $(1) -x c -S -o /dev/null - 2>/dev/null && echo '$(1)')

hardening := -fPIE -fstack-protector-strong $(if $(SANITIZE),,-D_FORTIFY_SOURCE=3) \
	$(call probe,-fstack-clash-protection) $(call probe,-fcf-protection=full) \
	$(call probe,-ftrivial-auto-var-init=zero)
warnings := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wformat=2 \
	-Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef \
	$(if $(WERROR),-Werror)

# Nothing of where or when it was built may reach a binary: without a slash, so that the
# folder itself, which debug information names, is mapped, too.
reproducible := -ffile-prefix-map=$(CURDIR)=. -Wdate-time
sanitizers := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer)

# The caller's CPPFLAGS, CFLAGS and LDFLAGS are added, however they are given.
preprocess := -I. -D_GNU_SOURCE $(if $(TEST_CLOCK),-DNETPROOF_TEST_CLOCK) $(CPPFLAGS)
compile := -std=gnu11 -O2 -g $(hardening) $(warnings) $(reproducible) $(sanitizers) \
	-ffunction-sections -fdata-sections $(CFLAGS)
link_flags := -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed,--gc-sections \
	-Wl,--build-id=none $(sanitizers) $(LDFLAGS)

packages := jansson nettle libmnl libnftables libcap-ng libseccomp libsystemd
preprocess += $(shell pkg-config --cflags $(packages) 2>/dev/null)

# --- what there is ------------------------------------------------------------
# A sources.mk adds to:
#   programs                 names; each with NAME_sources, NAME_archives and
#                            NAME_libraries (pkg-config names), NAME_static = 1,
#                            NAME_link (linker options of its own)
#   archives                 names; each with NAME_sources; build/lib/libNAME.a
#   unit_tests, fuzz_targets names; each with NAME_sources, _archives, _libraries
#   test_programs            like programs: helpers that only tests run
#   tests                    lines for tests/run: KIND:COMMAND
#   benches                  commands, each printing one JSON object

comma := ,
programs :=
archives :=
unit_tests :=
fuzz_targets :=
test_programs :=
tests :=
benches :=

include common/sources.mk
include $(wildcard agent/sources.mk policy/sources.mk policy/kernel/sources.mk \
	collector/sources.mk verifier/sources.mk proxy/sources.mk systemd/sources.mk \
	tests/lab/sources.mk tests/faults/sources.mk docs/sources.mk install.mk)
include tests/sources.mk
lists := $(MAKEFILE_LIST)

# --- rules --------------------------------------------------------------------

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

# Holds the compiler and the flags; newer than what was built with others, so that
# nothing of another compiler or variant is ever left in a folder. (-Werror decides
# whether something is built, not what.)
flags := $(shell $(CC) --version 2>/dev/null | head -n 1) $(CC) $(preprocess) \
	$(filter-out -Werror,$(compile)) $(link_flags)
# Several may look at the same time (each lab makes its release), so each has a file
# of its own to compare with.
this_make := $(shell echo $$PPID)
.PHONY: FORCE
$(BUILD):
	@mkdir -p $@
$(BUILD)/flags: FORCE | $(BUILD)
	@pkg-config --exists $(packages) 2>/dev/null || { \
		echo 'make: compiler or libraries missing: run tests/deps' >&2; exit 1; }
	$(file >$@.$(this_make),$(flags))
	@cmp -s $@.$(this_make) $@ && rm -f $@.$(this_make) || mv $@.$(this_make) $@

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(preprocess) $(compile) -MMD -MP -c -o $@ $<

define archive_rule
$(BUILD)/lib/lib$(1).a: $(call objects,$($(1)_sources)) $(lists)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(AR) rcsD $$@ $$(filter %.o,$$^)
all_sources += $($(1)_sources)
endef

# $(1) name, $(2) folder in the build, $(3) further flags
define program_rule
$(BUILD)/$(2)/$(1): $(call objects,$($(1)_sources)) \
		$(patsubst %,$(BUILD)/lib/lib%.a,$($(1)_archives)) $(lists) $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(CC) $$(compile) $(if $(and $($(1)_static),$(if $(SANITIZE),,yes)),-static-pie,-pie) \
		$(link_flags) $($(1)_link) $(3) -o $$@ $$(filter %.o %.a,$$^) \
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

.PHONY: deps test check asan fuzz fuzz-decoders bench lint static-check repro-check
deps:
	@tests/deps

test: deps
	@$(MAKE) $(parallel) check

# The rows asked for, and the variants they want: everything with gcc and once more
# with other clocks; with clang, with sanitizers and as fuzz targets where a row
# names that variant's folder.
empty :=
selected = $(strip $(foreach t,$(tests),$(if $(ONLY),$(if $(findstring \
	$(subst $(empty) $(empty),|,$(ONLY)),$(t)),$(t)),$(t))))
wants = $(if $(findstring $(1),$(selected)),variant-$(2))
variants = variant-gcc variant-clock $(call wants,build/clang,clang) \
	$(call wants,build/asan,asan) $(call wants,tests/fuzz/run,fuzz)

.PHONY: variants variant-gcc variant-clock variant-clang variant-asan variant-fuzz
variants: $(variants)
variant-gcc:
	@$(MAKE) $(parallel) --silent all test-programs WERROR=1
variant-clock:
	@$(MAKE) $(parallel) --silent all test-programs BUILD=build/clock TEST_CLOCK=1 WERROR=1
variant-clang:
	@$(MAKE) $(parallel) --silent all test-programs CC=clang BUILD=build/clang WERROR=1
variant-asan:
	@$(MAKE) $(parallel) --silent all test-programs BUILD=build/asan \
		SANITIZE=address,undefined WERROR=1
variant-fuzz:
	@$(MAKE) $(parallel) --silent fuzz-programs CC=clang BUILD=build/fuzz \
		SANITIZE=fuzzer-no-link,address,undefined

rows = $(foreach t,$(tests),'$(subst |, ,$(t))')

check: variants
	@tests/run --only '$(ONLY)' $(rows)

asan: variant-asan
	@tests/run --kind asan $(rows)

# Each fuzz target for FUZZ_SECONDS.
FUZZ_SECONDS ?= 600
fuzz: variant-fuzz
	@for target in $(fuzz_targets); do \
		tests/fuzz/run $$target -max_total_time=$(FUZZ_SECONDS) || exit 1; done

# The decoders of what net-verify reads, FUZZ_RUNS times in total.
FUZZ_RUNS ?= 10000000
fuzz-decoders: variant-fuzz
	@tests/fuzz/decoders $(FUZZ_RUNS)

# The main job on a fresh machine; leaves nothing but a new folder in out/demo (or in
# DEMO_FOLDER), which it names.
.PHONY: demo
DEMO_FOLDER ?=
demo: deps
	@echo 'demo: building'
	@$(MAKE) $(parallel) --silent all
	@tests/demo/demo $(if $(DEMO_FOLDER),--folder '$(DEMO_FOLDER)')

bench: all test-programs
	@tests/bench $(foreach b,$(benches),'$(subst |, ,$(b))')

lint:
	@tests/checks/format
	@tests/checks/layers
	@tests/checks/words
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
	@echo '$(preprocess) -std=gnu11'

.PHONY: clean help
clean:
	rm -rf build out

help:
	@sed -n '5,17s/^# *//p' Makefile
	@echo
	@echo 'Also: asan clean completions faults fuzz fuzz-decoders lint manual repro-check static-check troubleshooting'

.PHONY: print-unit-tests
print-unit-tests:
	@printf '%s\n' $(addprefix $(BUILD)/tests/,$(unit_tests))
