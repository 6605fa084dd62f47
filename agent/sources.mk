# The probe agent: one static binary.
tests += net:tests/agent/test_netns.py
