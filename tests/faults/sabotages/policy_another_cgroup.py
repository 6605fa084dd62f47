# SPDX-License-Identifier: GPL-2.0-or-later
"""Another cgroup is a worker, too."""
LAYER = "policy"
WHEN = "candidate.router.connect"
DO = r"""nft "add element inet $TABLE worker { \"system.slice/$PROXY\" timeout 10s }"
"""
REFUSED = ["differs", "set worker: element", "is not of the policy"]
