# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of systemd's on the user's slice denies, not the policy."""
LAYER = "foreign"
DO = "systemctl set-property --runtime user-$SUBJECT.slice IPAddressDeny=203.0.113.80"
REFUSED = ["BPF egress on ", "user@"]
