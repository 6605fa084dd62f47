# SPDX-License-Identifier: GPL-2.0-or-later
"""The label key can be read."""
LAYER = "evidence"
DO = "chmod 644 $PROFILE"
UNDO = ":"
REFUSED = "profile.json"
