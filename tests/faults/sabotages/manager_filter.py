# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's manager may make no IPv6 sockets, and with it neither daemon nor containers."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in user@$SUBJECT.service 'RestrictAddressFamilies=AF_UNIX AF_INET AF_NETLINK'"
UNDO = "drop_out user@$SUBJECT.service"
PREFLIGHT_REFUSED = ["user@", "its RestrictAddressFamilies is "]
