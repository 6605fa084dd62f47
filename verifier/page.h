/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every page of --format html begins with: its policy and its style. */
#ifndef VERIFIER_PAGE_H
#define VERIFIER_PAGE_H

/* From the doctype to the page's heading. No script, nothing from elsewhere: the page's
 * own content security policy would forbid both. */
extern const char page_head[];

#endif
