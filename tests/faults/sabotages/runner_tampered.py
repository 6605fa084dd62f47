# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed runner is not the reviewed one."""
LAYER = "agents"
DO = "cp -p $LIB/net-probe /run/kept; printf x >>$LIB/net-probe"
UNDO = "mv /run/kept $LIB/net-probe"
REFUSED = "net-probe: is not the release's"
