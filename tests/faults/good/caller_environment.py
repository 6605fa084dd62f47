# SPDX-License-Identifier: GPL-2.0-or-later
"""The caller's environment names other engines, proxies and languages."""
LAYER = "collector"
WRAP = ["/usr/bin/env", "DOCKER_HOST=tcp://192.0.2.1:2375", "HTTPS_PROXY=http://192.0.2.1:1", "https_proxy=http://192.0.2.1:1", "DOCKER_CONTEXT=other", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "XDG_RUNTIME_DIR=/nowhere"]
