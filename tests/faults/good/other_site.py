# SPDX-License-Identifier: GPL-2.0-or-later
"""The other site that is shipped."""
LAYER = "host"
HOST = {
    "name": "ditto-coding-hosted",
    "workload_user": "ditto-coding-hosted",
    "table": "ditto_coding_hosted",
    "worker_unit": "ditto-coding-hosted-worker.service",
    "guard_unit": "ditto-coding-hosted-egress.service",
    "proxy_unit": "ditto-coding-hosted-egress-proxy.service",
}
