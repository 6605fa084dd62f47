# SPDX-License-Identifier: GPL-2.0-or-later
"""No file may be written."""
LAYER = "collector"
WRAP = ["/usr/bin/prlimit", "--fsize=0"]
UNTOLD = "ended by signal 25"
