# SPDX-License-Identifier: GPL-2.0-or-later
"""Anybody may write the configuration."""
LAYER = "evidence"
DO = "chmod 666 $ETC/collection.json"
UNDO = "chmod 600 $ETC/collection.json"
REFUSED = "collection.json"
