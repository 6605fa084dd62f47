# SPDX-License-Identifier: GPL-2.0-or-later
"""Another program answers in the proxy's place."""
LAYER = "units"
DO = """drop_in $PROXY Type=exec ExecStart= 'ExecStart=/usr/bin/sleep 600'
systemctl restart $PROXY"""
UNDO = """drop_out $PROXY
systemctl restart $PROXY"""
REFUSED = "runs another program"
