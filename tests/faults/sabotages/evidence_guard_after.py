# SPDX-License-Identifier: GPL-2.0-or-later
"""After the collection a subordinate range is added, and the guard knows it."""
LAYER = "evidence"
WHEN = "after"
DO = 'echo "$WORKLOAD:3000000000:10" >>/etc/subuid; revoke'
NOT_VERIFIED = "guard"
