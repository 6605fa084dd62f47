# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that loads the policy is another."""
LAYER = "agents"
DO = "cp -p $LIB/net-policy /run/kept; printf x >>$LIB/net-policy"
UNDO = "mv /run/kept $LIB/net-policy"
REFUSED = "net-policy: is not the release's"
