# Sabotaged hosts and good hosts: the prover proved. See tests/faults/README.md.
#
#   make faults              every row
#   make faults FAULT=name   one row
tests += faults:tests/faults/selftest
tests += faults@3600:tests/faults/faults|--rotating
FAULT ?=
.PHONY: faults
faults: deps
	@$(MAKE) $(parallel) --silent variant-gcc variant-clock
	@tests/faults/faults $(if $(FAULT),--only '$(FAULT)')
