# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGTERM while in active."""
LAYER = "collector"
WHEN = "active"
DO = "kill -TERM $(collector)"
UNTOLD = "interrupted by SIGTERM"
