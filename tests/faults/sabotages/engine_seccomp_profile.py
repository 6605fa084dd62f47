# SPDX-License-Identifier: GPL-2.0-or-later
"""Containers are under a system call filter of somebody's, which could deny in the policy's place."""
LAYER = "engine"
WHEN = "preflight"
PREFLIGHT_REFUSED = ["security_options", "a failed probe could mean that profile"]


def act(host):
    host.write("/etc/mine.json", '{"defaultAction": "SCMP_ACT_ALLOW"}', "644")
    host.engine_line("--rootless ", "--rootless --seccomp-profile=/etc/mine.json ")
