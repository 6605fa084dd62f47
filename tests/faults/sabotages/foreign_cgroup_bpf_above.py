# SPDX-License-Identifier: GPL-2.0-or-later
"""The same on the slice above the worker."""
LAYER = "foreign"
DO = "systemctl set-property --runtime system.slice IPAddressDeny=203.0.113.80"
REFUSED = ["BPF egress on ", "netproof-worker.service"]
