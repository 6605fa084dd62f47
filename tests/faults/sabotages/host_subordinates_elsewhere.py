# SPDX-License-Identifier: GPL-2.0-or-later
"""Subordinate ranges come from elsewhere."""
LAYER = "host"
DO = "cp -p /etc/nsswitch.conf /run/kept; echo 'subid: sss' >>/etc/nsswitch.conf"
UNDO = "mv /run/kept /etc/nsswitch.conf"
REFUSED = "subid"
