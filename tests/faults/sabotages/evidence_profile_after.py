# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile shown to the verifier is another."""
LAYER = "evidence"
WHEN = "after"
DO = r"""edit $PROFILE 'd["trusted_loopback_tcp"] = True'"""
NOT_VERIFIED = "profile"
