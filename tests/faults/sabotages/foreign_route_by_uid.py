# SPDX-License-Identifier: GPL-2.0-or-later
"""The workload's packets are routed elsewhere by its uid."""
LAYER = "foreign"
DO = "ip rule add uidrange $SUBJECT-$SUBJECT lookup 77 priority 77"
UNDO = "ip rule del priority 77"
REFUSED = "routing rule ip 77: a routing rule by user"
