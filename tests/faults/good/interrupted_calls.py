# SPDX-License-Identifier: GPL-2.0-or-later
"""The collector, its children and the agents are stopped and continued fifty times a second."""
LAYER = "collector"
DO = "systemd-run --quiet --unit=pauser -- /usr/bin/python3 $FAULTS/pauser.py 1 15"
