/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats of reports, one file each. */
#ifndef VERIFIER_REPORT_FORMATS_H
#define VERIFIER_REPORT_FORMATS_H

#include "verifier/report.h"

extern const struct report_format report_human;
extern const struct report_format report_json;
extern const struct report_format report_tap;
extern const struct report_format report_junit;
extern const struct report_format report_sarif;
extern const struct report_format report_html;

#endif
