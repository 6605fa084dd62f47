# What speaks to the kernel's nf_tables.
archives += kernel
kernel_sources := \
	policy/kernel/guard.c \
	policy/kernel/nfnl.c \
	policy/subjects.c

test_programs += guard_load
guard_load_sources := tests/policy/guard_load.c
guard_load_archives := kernel common
guard_load_libraries := libmnl
