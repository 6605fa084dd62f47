# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker's agent dies."""
LAYER = "agents"
WHEN = "executor agent measured"
DO = "kill -9 $(agent_of $WORKER)"
REFUSED = "worker agent: "
