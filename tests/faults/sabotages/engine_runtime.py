# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine was started again with another default runtime."""
LAYER = "engine"
REFUSED = "not the one of the preflight"


def act(host):
    host.engine_line("--rootless ", "--rootless --add-runtime=other=/usr/sbin/runc "
                     "--default-runtime=other ")
