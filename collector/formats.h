/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats that the decoder process knows. */
#ifndef COLLECTOR_FORMATS_H
#define COLLECTOR_FORMATS_H

#include "collector/decoder.h"

enum format {
	FORMAT_ANSWER,     /* struct agent_answer */
	FORMAT_REPORT,     /* struct once_report */
	FORMAT_INFO,       /* struct engine_info */
	FORMAT_CONTAINER,  /* struct engine_container */
	FORMAT_NAMES,      /* struct lines_names */
	FORMAT_PROPERTIES, /* struct lines_properties */
	FORMAT_COUNT,
};

extern const struct decoder_format collector_formats[FORMAT_COUNT];

#endif
