# The collector: what net-collector and net-preflight share.
archives += collector
collector_sources := \
	collector/agentlink.c \
	collector/decoder.c \
	collector/measure.c \
	collector/netview.c \
	collector/spawn.c \
	collector/wait.c
