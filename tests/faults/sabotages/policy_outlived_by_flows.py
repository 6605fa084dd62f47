# SPDX-License-Identifier: GPL-2.0-or-later
"""After the expiry all is open: flows live on, new ones come, and the refusal names each."""
LAYER = "policy"
WHEN = "to the expiry"
DO = 'open_holes "meta skuid $SUBJECT accept" scoped_output marked_output'
REFUSED = ("differs", "chain marked_output: rule 1 is not of the policy",
           "leaks already seen: worker.trusted.established_after_expiry, "
           "worker.trusted.new_after_expiry, daemon.public.after_expiry")
