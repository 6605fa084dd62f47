# SPDX-License-Identifier: GPL-2.0-or-later
"""A longer window."""
LAYER = "time"
WINDOW = 90
