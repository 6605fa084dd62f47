# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGTERM while in failed_start."""
LAYER = "collector"
WHEN = "failed_start"
DO = "kill -TERM $(collector)"
UNTOLD = "interrupted by SIGTERM"
