# SPDX-License-Identifier: GPL-2.0-or-later
"""A fresh host with one endpoint."""
LAYER = "host"
