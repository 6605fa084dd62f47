# The lab: a throwaway host. See tests/lab/README.md.
tests += lab:tests/lab/test_lab.py
