# The collector: what net-collector and net-preflight share.
archives += collector
collector_sources := \
	collector/admission.c \
	collector/agentlink.c \
	collector/agentsocket.c \
	collector/bindings.c \
	collector/bus.c \
	collector/confine.c \
	collector/collect.c \
	collector/containers.c \
	collector/counter.c \
	collector/decoder.c \
	collector/doctor.c \
	collector/ending.c \
	collector/engine.c \
	collector/eventlog.c \
	collector/fdpass.c \
	collector/formats.c \
	collector/freeids.c \
	collector/head.c \
	collector/handed.c \
	collector/hostview.c \
	collector/inspect.c \
	collector/inspect_units.c \
	collector/journal.c \
	collector/lines.c \
	collector/lock.c \
	collector/measure.c \
	collector/netview.c \
	collector/once.c \
	collector/oneshot.c \
	collector/phase.c \
	collector/phase_active.c \
	collector/phase_expiry.c \
	collector/phase_stop.c \
	collector/phases.c \
	collector/positions.c \
	collector/probes.c \
	collector/rules.c \
	collector/session.c \
	collector/setup.c \
	collector/spawn.c \
	collector/unit_form.c \
	collector/unit_rules.c \
	collector/units.c \
	collector/wait.c \
	collector/workload.c

collector_archives := collector kernel policy common
collector_libraries := libsystemd libmnl libnftables libcap-ng libseccomp jansson nettle

unit_tests += test_agentlink test_eventlog test_measure test_unit_rules
test_eventlog_sources := tests/collector/test_eventlog.c
test_eventlog_archives := $(collector_archives)
test_eventlog_libraries := $(collector_libraries)
test_agentlink_sources := tests/collector/test_agentlink.c
test_agentlink_archives := $(collector_archives)
test_agentlink_libraries := $(collector_libraries)
test_unit_rules_sources := tests/collector/test_unit_rules.c
test_unit_rules_archives := $(collector_archives)
test_unit_rules_libraries := $(collector_libraries)
test_measure_sources := tests/collector/test_measure.c
test_measure_archives := $(collector_archives)
test_measure_libraries := $(collector_libraries)
unit_tests += test_workload
test_workload_sources := tests/collector/test_workload.c
test_workload_archives := $(collector_archives)
test_workload_libraries := $(collector_libraries)
test_workload_link := -Wl,--wrap=readdir -Wl,--wrap=getxattr
unit_tests += test_journal
test_journal_sources := tests/collector/test_journal.c
test_journal_archives := $(collector_archives)
test_journal_libraries := $(collector_libraries)
unit_tests += test_probes
test_probes_sources := tests/collector/test_probes.c
test_probes_archives := $(collector_archives)
test_probes_libraries := $(collector_libraries)
unit_tests += test_units
test_units_sources := tests/collector/test_units.c
test_units_archives := $(collector_archives)
test_units_libraries := $(collector_libraries)
unit_tests += test_confine
test_confine_sources := tests/collector/test_confine.c
test_confine_archives := $(collector_archives)
test_confine_libraries := $(collector_libraries)
unit_tests += test_decoder
test_decoder_sources := tests/collector/test_decoder.c
test_decoder_archives := $(collector_archives)
test_decoder_libraries := $(collector_libraries)

# The agent itself, but for one answer.
test_programs += liar
liar_sources := agent/main.c tests/collector/liar.c
liar_archives := agent common
liar_libraries := jansson libseccomp nettle
liar_static := 1
liar_link := -Wl,--wrap=json_table_write

programs += net-preflight
net-preflight_sources := collector/net-preflight/main.c
net-preflight_archives := $(collector_archives)
net-preflight_libraries := $(collector_libraries)

programs += net-collector
net-collector_sources := collector/net-collector/main.c
net-collector_archives := $(collector_archives)
net-collector_libraries := $(collector_libraries)

tests += unit:tests/collector/test_messages.py
tests += lab@900:tests/collector/test_collect.py
tests += lab@900:tests/collector/test_refusals.py
# Disturbed while it runs, at moments that do not race: tests/collector/moments.py.
tests += lab@900:tests/collector/test_tampered.py
tests += lab@900:tests/collector/test_during.py
tests += lab@900:tests/collector/test_signals.py
tests += lab@900:tests/collector/test_forgery.py
benches += tests/collector/bench_collect.py
tests += lab@900:tests/collector/test_bindings.py
tests += lab@900:tests/collector/test_doctor.py
