# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration is of another boot."""
LAYER = "evidence"
DO = r"""edit $ETC/collection.json 'd["boot_id"] = "00000000-0000-4000-8000-000000000000"'"""
UNDO = ":"
REFUSED = "another boot's"
