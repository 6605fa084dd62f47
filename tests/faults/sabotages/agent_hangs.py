# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's agent stops answering."""
LAYER = "agents"
WHEN = "executor agent measured"
DO = "for a in $(agent_of daemon-agent); do kill -STOP $a; done"
REFUSED = "gave no answer in time"
