# SPDX-License-Identifier: GPL-2.0-or-later
"""The preflight named does not exist."""
LAYER = "evidence"
DO = r"""edit $ETC/collection.json 'd["pre_collection_preflight_sha256"] = "0" * 64'"""
UNDO = ":"
REFUSED = "0000"
