# SPDX-License-Identifier: GPL-2.0-or-later
"""A routing rule that prohibits, by IPv6 and uid: a denial that is not ours."""
LAYER = "foreign"
DO = "ip -6 rule add uidrange $SUBJECT-$SUBJECT prohibit priority 78"
UNDO = "ip -6 rule del priority 78"
REFUSED = "routing rule ip6 78: a routing rule that does not look a table up"
