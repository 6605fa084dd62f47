# SPDX-License-Identifier: GPL-2.0-or-later
"""One more chain in the guard's table, with a name of the policy's and a rule that lets go."""
LAYER = "policy"
DO = """nft add chain inet $TABLE scoped_output '{ type filter hook output priority -400; policy accept; }'
nft add rule inet $TABLE scoped_output accept"""
UNDO = "revoke"
REFUSED = ["differs", "chain scoped_output"]
