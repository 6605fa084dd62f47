// SPDX-License-Identifier: GPL-2.0-or-later
// The formats that the decoder process knows.
#include "collector/formats.h"

#include "collector/agentlink.h"
#include "collector/engine.h"
#include "collector/once.h"

const struct decoder_format collector_formats[FORMAT_COUNT] = {
	[FORMAT_ANSWER] = {&agent_answer_table, AGENT_LINE_MAX},
	[FORMAT_REPORT] = {&once_report_table, ONCE_REPORT_LIMIT},
	[FORMAT_INFO] = {&engine_info_table, 65536},
	[FORMAT_CONTAINER] = {&engine_container_table, 65536},
};
