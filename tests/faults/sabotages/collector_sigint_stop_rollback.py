# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGINT while in stop_rollback."""
LAYER = "collector"
WHEN = "stop_rollback"
DO = "kill -INT $(collector)"
UNTOLD = "interrupted by SIGINT"
