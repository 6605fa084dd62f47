# SPDX-License-Identifier: GPL-2.0-or-later
"""A rule before the guard's reject once the last start has failed."""
LAYER = "policy"
WHEN = "starting the worker on the expired profile"
DO = """await pgrep -f 'net-probe net-once'
nft insert rule inet $TABLE output accept"""
REFUSED = ["differs", "chain output: rule 1 is not of the policy"]
