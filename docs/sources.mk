# What the programs' help is made into: shell completion.
documented := $(programs) net-agent net-once
completions := $(foreach p,$(documented),\
	$(BUILD)/completion/bash/$(p) $(BUILD)/completion/zsh/_$(p))

.PHONY: completions
completions: $(completions)
$(BUILD)/completion/bash/%: $(BUILD)/bin/% docs/make-completion
	@mkdir -p $(@D)
	@docs/make-completion bash $< >$@
$(BUILD)/completion/zsh/_%: $(BUILD)/bin/% docs/make-completion
	@mkdir -p $(@D)
	@docs/make-completion zsh $< >$@

tests += docs:tests/docs/test_completion.py
