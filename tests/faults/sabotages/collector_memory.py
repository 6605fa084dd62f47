# SPDX-License-Identifier: GPL-2.0-or-later
"""Hardly any memory."""
LAYER = "collector"
WRAP = ["/usr/bin/prlimit", "--as=30000000"]
UNTOLD = "decoder: gives no answer"
