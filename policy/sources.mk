# The pure part of the policy: documents, compiler, normalization, digests.
archives += policy
policy_sources := \
	policy/catalog.c \
	policy/collection.c \
	policy/endpoint_digest.c \
	policy/host.c \
	policy/layout.c \
	policy/preflight.c \
	policy/profile.c \
	policy/record.c \
	policy/release.c \
	policy/render.c \
	policy/ruleset.c \
	policy/site.c \
	policy/subjects.c \
	policy/tables.c \
	policy/targets.c \
	policy/verdict.c
