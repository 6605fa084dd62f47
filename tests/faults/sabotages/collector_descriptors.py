# SPDX-License-Identifier: GPL-2.0-or-later
"""Hardly a descriptor to be had."""
LAYER = "collector"
WRAP = ["/usr/bin/prlimit", "--nofile=14"]
UNTOLD = "cannot be opened: Too many open files"
