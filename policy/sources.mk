# The pure part of the policy: documents, compiler, normalization, digests.
archives += policy
policy_sources := \
	policy/catalog.c \
	policy/collection.c \
	policy/endpoint_digest.c \
	policy/host.c \
	policy/layout.c \
	policy/normalize.c \
	policy/pieces.c \
	policy/preflight.c \
	policy/profile.c \
	policy/record.c \
	policy/release.c \
	policy/render.c \
	policy/ruleset.c \
	policy/semantic.c \
	policy/site.c \
	policy/subjects.c \
	policy/tables.c \
	policy/targets.c \
	policy/verdict.c \
	policy/words.c

# net-policy joins the pure part with the kernel's.
programs += net-policy
net-policy_sources := \
	policy/net-policy/main.c \
	policy/net-policy/options.c
net-policy_archives := kernel policy common
net-policy_libraries := libnftables libmnl jansson nettle

# A release: every program, stripped, the documents they belong with, the image
# that candidates run in, and release.json over all of it, in build/release.
# SOURCE_REVISION names the commit where there is no git; a tree with changes is
# no commit, so it is refused unless a revision is given.
RELEASE_OUT ?= $(BUILD)/release
CANDIDATE_IMAGE ?= netproof-candidate:$(release_version)
CANDIDATE_IMAGE_ID ?=
SOURCE_REVISION ?=
STRIP ?= strip
release_version = $(shell sed -n 's/^#define NETPROOF_VERSION "\(.*\)"$$/\1/p' common/version.h)

.PHONY: release
release: all
	@[ -n '$(SOURCE_REVISION)' ] || [ -z "$$(git status --porcelain)" ] || { \
		echo 'release: the tree has changes: commit them, or give SOURCE_REVISION' >&2; \
		exit 1; }
	@mkdir -p $(RELEASE_OUT)
	@for program in $(programs); do \
		$(STRIP) -o $(RELEASE_OUT)/$$program $(BUILD)/bin/$$program || exit 1; \
	done
	@install -m 644 fixtures/catalog.json fixtures/network/targets.json $(RELEASE_OUT)
	@image=$$(CC='$(CC)' CANDIDATE_IMAGE='$(CANDIDATE_IMAGE)' policy/make-image \
		$(RELEASE_OUT)/candidate-image.tar) && \
	revision=$$([ -n '$(SOURCE_REVISION)' ] && echo '$(SOURCE_REVISION)' || \
		git rev-parse HEAD) && \
	policy/make-release $(RELEASE_OUT) '$(release_version)' "$$revision" \
		'$(CANDIDATE_IMAGE)' "$(or $(CANDIDATE_IMAGE_ID),$$image)"

test_programs += format_tool
format_tool_sources := \
	tests/formats/format_profile.c \
	tests/formats/format_site.c \
	tests/formats/format_tool.c
format_tool_archives := policy common
format_tool_libraries := jansson nettle

unit_tests += test_catalog test_record test_verdict
test_record_sources := tests/unit/test_record.c
test_record_archives := policy common
test_record_libraries := jansson nettle
test_catalog_sources := tests/unit/test_catalog.c
test_catalog_archives := policy common
test_catalog_libraries := jansson nettle
test_verdict_sources := tests/unit/test_verdict.c
test_verdict_archives := policy common
test_verdict_libraries := jansson nettle
tests += unit:tests/formats/test_formats.py
tests += unit:tests/formats/test_release.py

# One fuzz target a format.
fuzz_formats := catalog collection preflight profile record release site targets
fuzz_targets += $(addprefix fuzz_,$(fuzz_formats))
define fuzz_format_variables
fuzz_$(1)_sources := tests/fuzz/fuzz_$(1).c tests/fuzz/mutate.c
fuzz_$(1)_archives := policy common
fuzz_$(1)_libraries := jansson nettle
endef
$(foreach f,$(fuzz_formats),$(eval $(call fuzz_format_variables,$(f))))

unit_tests += test_ruleset test_subjects
test_ruleset_sources := tests/unit/test_ruleset.c
test_ruleset_archives := policy common
test_ruleset_libraries := jansson nettle
test_subjects_sources := tests/unit/test_subjects.c
test_subjects_archives := kernel policy common
test_subjects_libraries := jansson nettle

unit_tests += test_pieces
test_pieces_sources := tests/unit/test_pieces.c
test_pieces_archives := policy common

fuzz_targets += fuzz_pieces
fuzz_pieces_sources := tests/fuzz/fuzz_pieces.c
fuzz_pieces_archives := policy common

tests += policy:tests/policy/test_effect.py
tests += policy:tests/policy/test_clocks.py
tests += policy@900:tests/policy/test_reload.py
tests += unit:tests/bogons/run
tests += policy:tests/policy/test_dead_sockets.py
tests += policy:tests/policy/test_install.py
tests += policy:tests/policy/test_semantic.py
tests += policy:tests/policy/test_digest.py
tests += policy:tests/policy/test_words.py

fuzz_targets += fuzz_listing
fuzz_listing_sources := tests/fuzz/fuzz_listing.c
fuzz_listing_archives := policy common
fuzz_listing_libraries := jansson nettle
