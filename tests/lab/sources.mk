# The lab: a throwaway host. See tests/lab/README.md.
test_programs += lab-reach
lab-reach_sources := tests/lab/reach.c
lab-reach_static := 1

tests += lab:tests/lab/test_lab.py
tests += lab:tests/lab/test_engine.py
tests += lab:tests/lab/test_units.py
benches += tests/lab/bench_lab.py
