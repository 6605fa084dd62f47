# SPDX-License-Identifier: GPL-2.0-or-later
"""A further subordinate range, which the guard does not name."""
LAYER = "host"
DO = 'cp -p /etc/subuid /run/kept; echo "$WORKLOAD:3000000000:65536" >>/etc/subuid'
UNDO = "mv /run/kept /etc/subuid"
REFUSED = ["differs", "set subjects differs"]
