// SPDX-License-Identifier: GPL-2.0-or-later
// The store without the sync of the file, which a power cut must find.
#define STORE_TEST_WITHOUT_FILE_SYNC
#include "common/store.c"
