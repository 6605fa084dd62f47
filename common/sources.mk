# What every program shares.
archives += common
common_sources := \
	common/buffer.c \
	common/canonical.c \
	common/child.c \
	common/cli.c \
	common/clock.c \
	common/diag.c \
	common/digest.c \
	common/inet.c \
	common/json.c \
	common/json_kept.c \
	common/json_table.c \
	common/moment.c \
	common/newfile.c \
	common/notify.c \
	common/number.c \
	common/protected.c \
	common/sandbox.c \
	common/store.c \
	common/style.c

# One cmocka program for each module.
common_tests := buffer canonical clock diag digest inet json json_table moment notify number \
	child cli protected sandbox style
unit_tests += test_json_kept
test_json_kept_sources := tests/unit/test_json_kept.c tests/unit/kept_sample.c
test_json_kept_archives := common
test_json_kept_libraries := jansson nettle

fuzz_targets += fuzz_json_kept
fuzz_json_kept_sources := tests/fuzz/fuzz_json_kept.c tests/fuzz/mutate.c tests/unit/kept_sample.c
fuzz_json_kept_archives := common
fuzz_json_kept_libraries := jansson nettle

unit_tests += $(addprefix test_,$(common_tests))
$(foreach t,$(common_tests),\
	$(eval test_$(t)_sources := tests/unit/test_$(t).c)\
	$(eval test_$(t)_archives := common)\
	$(eval test_$(t)_libraries := jansson nettle))
test_sandbox_libraries := libseccomp
# Every function of libc that fails in turn.
unit_tests += test_faults
test_faults_sources := tests/unit/test_faults.c
test_faults_archives := common
test_faults_libraries := jansson nettle
test_faults_link := $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc free fork pipe2 \
	poll waitpid read pread write fstat fcntl syscall)
# Once more where the clocks are shifted.
tests += unit:build/clock/tests/test_clock

fuzz_targets += fuzz_json
fuzz_json_sources := tests/fuzz/fuzz_json.c
fuzz_json_archives := common
fuzz_json_libraries := jansson nettle

test_programs += json_verdict
json_verdict_sources := tests/json/json_verdict.c
json_verdict_archives := common
json_verdict_libraries := jansson nettle
tests += asan:tests/json/compare|build/asan/tests/json_verdict
tests += unit:tests/json/compare|build/tests/json_verdict
