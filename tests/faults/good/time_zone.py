# SPDX-License-Identifier: GPL-2.0-or-later
"""A host in another time zone."""
LAYER = "time"
WHEN = "preflight"
DO = """ln -sf /usr/share/zoneinfo/Pacific/Chatham /etc/localtime
echo Pacific/Chatham >/etc/timezone"""
WRAP = ["/usr/bin/env", "TZ=Pacific/Chatham"]
