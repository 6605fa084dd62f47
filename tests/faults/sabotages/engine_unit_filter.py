# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's unit may make no IPv6 sockets, nor may what is below it."""
LAYER = "engine"
WHEN = "preflight"
DO = r"""mkdir -p /etc/systemd/user/$ENGINE.d
printf '[Service]\nRestrictAddressFamilies=AF_UNIX AF_INET AF_NETLINK\n' >/etc/systemd/user/$ENGINE.d/sabotage.conf
su -s /bin/sh $WORKLOAD -c 'XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user daemon-reload'"""
UNDO = """rm -r /etc/systemd/user/$ENGINE.d
su -s /bin/sh $WORKLOAD -c 'XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user daemon-reload'"""
PREFLIGHT_REFUSED = ["docker.service", "its RestrictAddressFamilies is "]
