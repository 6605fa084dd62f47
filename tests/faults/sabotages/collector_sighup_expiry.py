# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGHUP while in expiry."""
LAYER = "collector"
WHEN = "expiry"
DO = "kill -HUP $(collector)"
UNTOLD = "interrupted by SIGHUP"
