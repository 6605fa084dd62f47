# SPDX-License-Identifier: GPL-2.0-or-later
"""There is no room for the journal."""
LAYER = "collector"
DO = """mkdir -p -m 700 /var/lib/netproof-collector
mount -t tmpfs -o size=4k,mode=700 none /var/lib/netproof-collector
head -c 8192 /dev/zero >/var/lib/netproof-collector/fill || :"""
UNTOLD = "journal: cannot be written: No space left on device"
