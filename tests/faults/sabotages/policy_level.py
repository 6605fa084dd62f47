# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker's rule looks at another level of cgroups."""
LAYER = "policy"
WHEN = "candidate.router.connect"
DO = """rule=$(nft -a list chain inet $TABLE scoped_output | grep -m1 'level 2')
handle=${rule##*handle }
text=$(nft -a -s list chain inet $TABLE scoped_output | grep -m1 'level 2' | sed 's/level 2/level 1/; s/@worker/"system.slice"/; s/ # handle.*//')
nft replace rule inet $TABLE scoped_output handle $handle "$text"
"""
REFUSED = ["differs", "chain scoped_output: rule 1 differs"]
