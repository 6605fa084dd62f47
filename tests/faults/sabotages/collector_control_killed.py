# SPDX-License-Identifier: GPL-2.0-or-later
"""The control agent, a child of the collector's, is killed."""
LAYER = "collector"
WHEN = "executor agent measured"
DO = "kill -9 $(pgrep -P $(collector) -u 0 -f net-agent)"
REFUSED = "control agent: "
