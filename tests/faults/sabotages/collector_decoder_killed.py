# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that decodes dies."""
LAYER = "collector"
WHEN = "executor agent measured"
DO = r"kill -9 $(pidof net-collector | tr ' ' '\n' | sort -n | tail -1)"
UNTOLD = "decoder: gives no answer"
LEAVES = "without a decoder the engine cannot be asked what is left; the journal keeps it"
