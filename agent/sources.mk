# The probe agent: one static binary, and the library its tests link.
archives += agent
agent_sources := \
	agent/agent.c \
	agent/answer.c \
	agent/attempt.c \
	agent/confine.c \
	agent/dns.c \
	agent/flow.c \
	agent/handles.c \
	agent/lookup.c \
	agent/made_path.c \
	agent/once.c \
	agent/outcome.c \
	agent/plan.c \
	agent/probe.c \
	agent/queue.c \
	agent/request.c \
	agent/serve.c \
	agent/session.c \
	agent/status_line.c

programs += net-probe
net-probe_sources := agent/main.c
net-probe_archives := agent common
net-probe_libraries := jansson libseccomp nettle
net-probe_static := 1
# Its digest is taken at every start, so it carries nothing it does not run on:
# relocations are packed, symbols stay out ("make net-probe_link=" keeps them).
net-probe_link := -s -Wl,-z,pack-relative-relocs

# Its other names.
programs: $(BUILD)/bin/net-agent $(BUILD)/bin/net-once
$(BUILD)/bin/net-agent $(BUILD)/bin/net-once: $(BUILD)/bin/net-probe
	@ln -sf net-probe $@

# Namespaces of their own, real rules and real sockets; once more with sanitizers where
# the agent meets strangers' bytes.
agent_net_tests := netns once outcomes payload protocol sandbox services unix
tests += $(foreach t,$(agent_net_tests),net:tests/agent/test_$(t).py)
tests += $(foreach t,once outcomes protocol services unix,\
	asan:env|BUILD=build/asan|tests/agent/test_$(t).py)

test_programs += empty measure forbidden
forbidden_sources := tests/agent/forbidden.c
forbidden_archives := agent common
forbidden_libraries := jansson libseccomp nettle
forbidden_static := 1
empty_sources := tests/agent/empty.c
empty_static := 1
measure_sources := tests/agent/measure.c
benches += tests/agent/bench.py

fuzz_targets += fuzz_line fuzz_dns fuzz_plan
$(foreach t,line dns plan,\
	$(eval fuzz_$(t)_sources := tests/fuzz/fuzz_$(t).c)\
	$(eval fuzz_$(t)_archives := agent common)\
	$(eval fuzz_$(t)_libraries := jansson libseccomp nettle))
tests += check:tests/checks/static|build/bin/net-probe

agent_tests := handles outcome request texts
unit_tests += $(addprefix test_agent_,$(agent_tests))
$(foreach t,$(agent_tests),\
	$(eval test_agent_$(t)_sources := tests/unit/test_agent_$(t).c)\
	$(eval test_agent_$(t)_archives := agent common)\
	$(eval test_agent_$(t)_libraries := jansson libseccomp nettle))
