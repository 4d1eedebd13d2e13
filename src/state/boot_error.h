/* boot-error.json: why the last start of a sandbox failed. Gone once it runs again. */
#pragma once

#include "base/err.h"

#define BOOT_ERROR_FILE "boot-error.json"

/* {errno, message, stage, t}. Without space for it there is none: the starter was told anyway. */
void boot_error_write(int record_dir, const char *stage, const struct err *why);
void boot_error_erase(int record_dir);
