# The pure part of the policy: documents, compiler, normalization, digests.
archives += policy
policy_sources := \
	policy/site.c
