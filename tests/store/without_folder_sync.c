// SPDX-License-Identifier: GPL-2.0-or-later
// The store without the sync of the folder, which a power cut must find.
#define STORE_TEST_WITHOUT_FOLDER_SYNC
#include "common/store.c"
