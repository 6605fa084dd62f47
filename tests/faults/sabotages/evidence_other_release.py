# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration pins another release."""
LAYER = "evidence"
DO = r"""edit $ETC/collection.json 'd["release_sha256"] = "0" * 64'"""
UNDO = ":"
REFUSED = "is not the release that"
