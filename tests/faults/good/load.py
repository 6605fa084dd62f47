# SPDX-License-Identifier: GPL-2.0-or-later
"""Both processors are busy, at the same priority."""
LAYER = "host"
WHEN = "preflight"
DO = "for i in 1 2 3 4; do systemd-run --quiet --unit=busy$i -- /bin/sh -c 'while :; do :; done'; done"
