# SPDX-License-Identifier: GPL-2.0-or-later
"""The outside world is half dead: trusted endpoints accept nothing, all else is there."""
LAYER = "network"
WINDOW = 75
WHEN = "executor agent measured"
WORLD = """nft 'table ip half { chain p { type filter hook prerouting priority -300
    ip daddr 198.51.100.0/24 drop; }; }'"""
BAD = {"worker.trusted.handshake": "handshake_failed",
       "worker.trusted.after_stop": "undecided",
       "worker.trusted.established_after_expiry": "probe_error",
       "worker.trusted.after_failed_start": "undecided"}
