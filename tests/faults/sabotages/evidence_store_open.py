# SPDX-License-Identifier: GPL-2.0-or-later
"""The store can be read by others."""
LAYER = "evidence"
DO = "chmod 755 $STORE"
UNDO = "chmod 700 $STORE"
REFUSED = "open to group or others"
