# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's own drop-in starts another program in the daemon's place."""
LAYER = "agents"
WHEN = "preflight"
DO = r"""home=$(getent passwd $WORKLOAD | cut -d: -f6)
su -s /bin/sh $WORKLOAD -c "mkdir -p $home/.config/systemd/user/netproof-daemon-.service.d
printf '[Service]\nExecStart=\nExecStart=/usr/bin/sleep 600\n' >$home/.config/systemd/user/netproof-daemon-.service.d/x.conf
XDG_RUNTIME_DIR=/run/user/$SUBJECT systemctl --user daemon-reload"
"""
REFUSED = "daemon agent"
