# Sabotaged hosts and good hosts: the prover proved. See tests/faults/README.md.
#
#   make faults              every row
#   make faults FAULT=name   one row
tests += faults:tests/faults/selftest
FAULT ?=
.PHONY: faults
faults: deps
	@$(MAKE) $(parallel) --silent all test-programs
	@tests/faults/faults $(if $(FAULT),--only '$(FAULT)')
