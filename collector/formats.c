// SPDX-License-Identifier: GPL-2.0-or-later
// The formats that the decoder process knows.
#include "collector/formats.h"

#include "collector/agentlink.h"
#include "collector/engine.h"
#include "collector/lines.h"
#include "collector/once.h"

const struct decoder_format collector_formats[FORMAT_COUNT] = {
	[FORMAT_ANSWER] = {&agent_answer_table, AGENT_LINE_MAX, NULL},
	[FORMAT_REPORT] = {&once_report_table, ONCE_REPORT_LIMIT, NULL},
	[FORMAT_INFO] = {&engine_info_table, 65536, NULL},
	[FORMAT_CONTAINER] = {&engine_container_table, 65536, NULL},
	[FORMAT_NAMES] = {&lines_names_table, 65536, lines_read_names},
	[FORMAT_PROPERTIES] = {&lines_properties_table, 65536, lines_read_properties},
};
