# SPDX-License-Identifier: GPL-2.0-or-later
"""While containers are made, the journal's disk fills up: all that was made is taken back."""
LAYER = "collector"
FIRST = """mkdir -p -m 700 /var/lib/netproof-collector
mount -t tmpfs -o size=8k,mode=700 none /var/lib/netproof-collector"""
WHEN = "candidate container started"
# As long as a journal can be in the block that it has: its next line needs another.
DO = r"""cd /var/lib/netproof-collector
while [ $(stat -c %s journal) -lt 4050 ]; do echo '{"kind":"file","name":"/run/none"}' >>journal; done
head -c 8192 /dev/zero >fill || :"""
UNTOLD = "journal: cannot be written: No space left on device"
