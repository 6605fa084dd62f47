# SPDX-License-Identifier: GPL-2.0-or-later
"""Between the worker's start and the daemon's the runner is another file."""
LAYER = "agents"
WHEN = "worker agent measured"
DO = "cp -p $LIB/net-probe /run/other; printf x >>/run/other; mv /run/other $LIB/net-probe"
REFUSED = "not the probe runner"
