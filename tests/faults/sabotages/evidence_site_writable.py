# SPDX-License-Identifier: GPL-2.0-or-later
"""Anybody may write the site."""
LAYER = "evidence"
DO = "chmod 666 $ETC/site.json"
UNDO = "chmod 644 $ETC/site.json"
REFUSED = "site.json"
