# The collector: what net-collector and net-preflight share.
archives += collector
collector_sources := \
	collector/agentlink.c \
	collector/decoder.c \
	collector/engine.c \
	collector/formats.c \
	collector/journal.c \
	collector/lock.c \
	collector/measure.c \
	collector/netview.c \
	collector/once.c \
	collector/spawn.c \
	collector/units.c \
	collector/wait.c
