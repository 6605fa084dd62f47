# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules' own window, by the wall clock, is years longer than the profile's."""
LAYER = "time"
WHEN = "executor agent measured"
DO = """{ echo "delete table inet $TABLE"; nft -T list table inet $TABLE |
    sed -E 's/(meta time [0-9]+-)[0-9]+/\\11999999999/'; } >/run/forged
nft -f /run/forged"""
REFUSED = ("ruleset differs", "scoped_input: rule")
