# SPDX-License-Identifier: GPL-2.0-or-later
"""DNS granted."""
LAYER = "policy"
PROFILE = {"trusted_dns": [{"address": "192.0.2.53", "port": 53}]}
