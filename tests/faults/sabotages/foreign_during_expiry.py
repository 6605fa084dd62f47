# SPDX-License-Identifier: GPL-2.0-or-later
"""A routing rule by user while the expiry is awaited."""
LAYER = "foreign"
WHEN = "expiry"
DO = "ip rule add uidrange $SUBJECT-$SUBJECT lookup 77 priority 77"
REFUSED = "routing rule ip 77: a routing rule by user"
