# SPDX-License-Identifier: GPL-2.0-or-later
"""The plan after the stop is run by a program that does nothing."""
LAYER = "agents"
WHEN = "candidate.router.connect"
DO = "cp /usr/bin/true /run/other; mv /run/other $LIB/net-probe"
REFUSED = "has not run net-once"
