# What speaks to the kernel's nf_tables.
archives += kernel
kernel_sources := \
	policy/kernel/account.c \
	policy/kernel/chainwise.c \
	policy/kernel/compare.c \
	policy/kernel/foreign.c \
	policy/kernel/foreign_bpf.c \
	policy/kernel/foreign_devices.c \
	policy/kernel/foreign_legacy.c \
	policy/kernel/foreign_routing.c \
	policy/kernel/foreign_tables.c \
	policy/kernel/rtnl.c \
	policy/kernel/guard.c \
	policy/kernel/install.c \
	policy/kernel/kdescribe.c \
	policy/kernel/kdiff.c \
	policy/kernel/kdump.c \
	policy/kernel/kexpand.c \
	policy/kernel/kform.c \
	policy/kernel/kleaf.c \
	policy/kernel/kparse.c \
	policy/kernel/kshape.c \
	policy/kernel/ktext.c \
	policy/kernel/listing.c \
	policy/kernel/nfnl.c \
	policy/kernel/pair.c \
	policy/kernel/place.c \
	policy/kernel/show.c \
	policy/kernel/subuid.c

test_programs += guard_load
guard_load_sources := tests/policy/guard_load.c
guard_load_archives := kernel policy common
guard_load_libraries := libmnl

test_programs += kform_dump
kform_dump_sources := tests/policy/kform_dump.c
kform_dump_archives := kernel policy common
kform_dump_libraries := libmnl nettle

test_programs += foreign_show
foreign_show_sources := tests/policy/foreign_show.c
foreign_show_archives := kernel policy common
foreign_show_libraries := libmnl nettle

tests += netns:tests/policy/test_diff.py
tests += netns:tests/policy/test_chainwise.py
tests += netns:tests/policy/test_guard.py
tests += netns:tests/policy/test_kernel_form.py
tests += netns:tests/policy/test_foreign.py

fuzz_targets += fuzz_kform
fuzz_kform_sources := tests/fuzz/fuzz_kform.c
fuzz_kform_archives := kernel policy common
fuzz_kform_libraries := libmnl nettle

unit_tests += test_kform
test_kform_sources := tests/unit/test_kform.c
test_kform_archives := kernel policy common
test_kform_libraries := libmnl nettle

test_programs += list_table
list_table_sources := tests/policy/list_table.c
list_table_archives := kernel policy common
list_table_libraries := libnftables libmnl jansson nettle

test_programs += compare_text
compare_text_sources := tests/policy/compare_text.c
compare_text_archives := kernel policy common
compare_text_libraries := libnftables libmnl jansson nettle

benches += tests/policy/bench_compare.py
