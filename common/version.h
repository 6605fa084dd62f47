/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The version every program reports. */
#ifndef COMMON_VERSION_H
#define COMMON_VERSION_H

#define NETPROOF_VERSION "0.1.0"

#endif
