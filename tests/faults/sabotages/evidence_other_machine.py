# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration is another machine's."""
LAYER = "evidence"
DO = r"""edit $ETC/collection.json 'd["machine_id_sha256"] = "0" * 64'"""
UNDO = ":"
REFUSED = "another machine's"
