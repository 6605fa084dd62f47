// SPDX-License-Identifier: GPL-2.0-or-later
// A judgement in the formats that people and other programs read.
#include "verifier/report.h"

#include <stdio.h>
#include <string.h>

#include "verifier/report_formats.h"

const struct report_format *const report_formats[] = {
	&report_human, &report_json, &report_tap, &report_junit,
	&report_sarif, &report_html, NULL,
};

const struct report_format *report_find(const char *name)
{
	for (size_t i = 0; report_formats[i]; i++)
		if (strcmp(report_formats[i]->name, name) == 0)
			return report_formats[i];
	return NULL;
}

const char *report_probe_word(const struct record_probe *probe)
{
	if (!probe->matched)
		return verdict_is_leak((enum expectation)probe->expect,
				       (enum observed)probe->observed)
			       ? "LEAK"
			       : "unmatched";
	return probe->conclusive ? "ok" : "inconclusive";
}

const char *report_meaning(enum judgement judgement)
{
	switch (judgement) {
	case JUDGEMENT_VERIFIED:
		return "The record stands, and every probe showed what it must.";
	case JUDGEMENT_REFUSED:
		return "Something of it is false, missing, or of something else: rely on "
		       "nothing in it.";
	case JUDGEMENT_UNMATCHED:
		return "The record stands, and says that the host does not do what it "
		       "must.";
	case JUDGEMENT_INCONCLUSIVE:
		return "The record stands, and does not show that the policy was the "
		       "cause.";
	}
	return "";
}
