# SPDX-License-Identifier: GPL-2.0-or-later
"""The collector is held still until the window has passed."""
LAYER = "time"
WHEN = "worker agent measured"
DO = """for p in $(pidof net-collector); do kill -STOP $p; done
sleep 46
for p in $(pidof net-collector); do kill -CONT $p; done"""
REFUSED = "the window ended meanwhile"
