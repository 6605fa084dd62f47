# SPDX-License-Identifier: GPL-2.0-or-later
"""As many endpoints as there can be, and DNS granted."""
LAYER = "policy"
HOST = {"endpoints": 32}
PROFILE = {"trusted_dns": [{"address": "192.0.2.53", "port": 53}]}
