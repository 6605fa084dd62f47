# SPDX-License-Identifier: GPL-2.0-or-later
"""Another file runs the plan after the stop."""
LAYER = "agents"
WHEN = "candidate.router.connect"
DO = "cp -p $LIB/net-probe /run/other; printf x >>/run/other; mv /run/other $LIB/net-probe"
REFUSED = "net-once: process"
