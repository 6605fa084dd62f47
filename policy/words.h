/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of nft's language. */
#ifndef POLICY_WORDS_H
#define POLICY_WORDS_H

#include <stdbool.h>

/* Whether nft takes `text` for a word of its own, so that nothing can be called that:
 * a table of such a name can be made over netlink, and neither be loaded nor listed.
 * All of libnftables 1.0.6, found by trying (tests/policy/test_words.py tries them
 * anew), and what later ones are known to add. */
bool words_is_reserved(const char *text);

#endif
