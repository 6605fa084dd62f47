# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard's uids are gone in an hour."""
LAYER = "policy"
DO = r"""forge_guard 's/flags constant,interval/flags interval,timeout/; s/(elements = . [0-9]+),/\1 timeout 1h,/'
"""
UNDO = "revoke"
REFUSED = ["differs", "set subjects"]
