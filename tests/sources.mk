# Tests that belong to no folder alone, and the rows that every unit test and fuzz
# target gets. In a row, '|' stands for a blank.
tests += $(foreach t,$(unit_tests),unit:build/tests/$(t))
tests += $(foreach t,$(unit_tests),asan:build/asan/tests/$(t))
tests += $(foreach t,$(unit_tests),clang:build/clang/tests/$(t))
tests += $(foreach f,$(fuzz_targets),fuzz:tests/fuzz/run|$(f)|-max_total_time=5)
tests += check:tests/checks/layers
tests += check:tests/checks/selftest
tests += check:tests/checks/format
tests += check:tests/checks/words
tests += check:tests/checks/refusals
tests += check@1200:tests/checks/tidy
tests += check@1200:tests/checks/cppcheck
tests += check@1200:tests/checks/reproducible
tests += demo@600:tests/demo/test_demo.py
