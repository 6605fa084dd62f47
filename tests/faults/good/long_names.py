# SPDX-License-Identifier: GPL-2.0-or-later
"""Names as long as they may be."""
LAYER = "units"
HOST = {
    "worker_unit": "netproof-wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww.service",
    "guard_unit": "netproof-gggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg.service",
    "proxy_unit": "netproof-pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp.service",
}
