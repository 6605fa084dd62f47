# The verifier, and the tests of the store it reads.
archives += verifier
verifier_sources := \
	verifier/case.c \
	verifier/confine.c \
	verifier/finding.c \
	verifier/fsck.c \
	verifier/judge.c \
	verifier/judge_agents.c \
	verifier/judge_binding.c \
	verifier/judge_probes.c \
	verifier/judge_times.c \
	verifier/markup.c \
	verifier/object.c \
	verifier/page.c \
	verifier/report.c \
	verifier/report_html.c \
	verifier/report_human.c \
	verifier/report_json.c \
	verifier/report_junit.c \
	verifier/report_sarif.c \
	verifier/report_tap.c \
	verifier/review.c \
	verifier/show.c \
	verifier/statement.c

programs += net-verify
net-verify_sources := verifier/main.c
net-verify_archives := verifier policy common
net-verify_libraries := jansson nettle libseccomp
# One record is judged as fast as a program starts: the loader would take as long.
net-verify_static := 1

unit_tests += test_store
test_store_sources := tests/unit/test_store.c
test_store_archives := common
test_store_libraries := jansson nettle

# The store's put alone, and without one of its two syncs.
test_programs += store_put store_put_no_file_sync store_put_no_folder_sync
store_put_sources := tests/store/put.c
store_put_archives := common
store_put_libraries := jansson nettle
store_put_no_file_sync_sources := tests/store/put.c tests/store/without_file_sync.c
store_put_no_file_sync_archives := common
store_put_no_file_sync_libraries := jansson nettle
store_put_no_folder_sync_sources := tests/store/put.c tests/store/without_folder_sync.c
store_put_no_folder_sync_archives := common
store_put_no_folder_sync_libraries := jansson nettle

# The verifier's confinement, tried with calls that it must not survive.
test_programs += verify_confined
verify_confined_sources := tests/store/confined.c
verify_confined_archives := verifier policy common
verify_confined_libraries := jansson nettle libseccomp

# net-verify without its filter, for faults.
test_programs += verify_unconfined
verify_unconfined_sources := verifier/main.c tests/store/unconfined.c
verify_unconfined_archives := verifier policy common
verify_unconfined_libraries := jansson nettle libseccomp

tests += unit:tests/store/test_faults.py
tests += unit:tests/store/test_powercut.py
tests += unit:tests/store/test_verify_store.py
tests += unit:tests/store/test_writers.py

test_programs += store_bench
store_bench_sources := tests/store/bench_put.c
store_bench_archives := common
store_bench_libraries := jansson nettle
benches += tests/store/bench.py
tests += unit:tests/verifier/test_record.py
tests += unit:tests/verifier/test_colours.py
tests += unit:tests/verifier/test_review.py
tests += unit:tests/verifier/test_formats.py
tests += unit:tests/verifier/test_statuses.py
tests += unit:tests/verifier/test_output.py
tests += unit:tests/verifier/test_attacks.py
tests += unit:tests/verifier/test_html.py

# The judgement alone, for very many cases.
test_programs += judge_many
judge_many_sources := tests/verifier/judge_many.c
judge_many_archives := verifier policy common
judge_many_libraries := jansson nettle
test_programs += judge_altered
judge_altered_sources := tests/verifier/judge_altered.c
judge_altered_archives := verifier policy common
judge_altered_libraries := jansson nettle
# Nothing can be changed unseen; TAMPER_ALL=1 tries every bit and byte.
tests += unit@1200:tests/verifier/test_tamper.py
tests += unit:tests/verifier/test_boundaries.py
tests += unit:tests/verifier/test_documents.py

test_programs += verify_empty
verify_empty_sources := tests/verifier/empty.c
benches += tests/verifier/bench.py

# Each day other mutants, as many as the time allows; tests/verifier/mutate.py: all.
tests += unit@600:tests/verifier/mutate.py|--seconds|90
