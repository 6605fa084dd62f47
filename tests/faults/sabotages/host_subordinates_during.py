# SPDX-License-Identifier: GPL-2.0-or-later
"""A further range while the collection runs."""
LAYER = "host"
WHEN = "executor agent measured"
DO = 'echo "$WORKLOAD:3000000000:65536" >>/etc/subuid'
REFUSED = "subordinate uids were changed while the collection ran"
