# SPDX-License-Identifier: GPL-2.0-or-later
"""Each service of the user's manager may make IPv4 sockets alone."""
LAYER = "units"
WHEN = "preflight"
DO = r"""mkdir -p /etc/systemd/user/netproof-daemon-.service.d
printf '[Service]\nRestrictAddressFamilies=AF_UNIX AF_INET\n' >/etc/systemd/user/netproof-daemon-.service.d/x.conf
su -s /bin/sh $WORKLOAD -c 'XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user daemon-reload'"""
REFUSED = ["daemon agent", "system call filters, not 1: a failed probe could mean one of those"]
