# SPDX-License-Identifier: GPL-2.0-or-later
"""systemd keeps descriptors for it, across stops."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'FileDescriptorStoreMax=4'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its FileDescriptorStoreMax is "
