/* The file boot-error.json says why the last start of a sandbox failed. The next start that
 * succeeds erases the file. */
#pragma once

#include "base/err.h"

#define BOOT_ERROR_FILE "boot-error.json"

/* Writes {errno, message, stage, t}. If writing fails, for instance because the disk is full, there
 * is no file. A missing file does no harm, because the command that started the sandbox also
 * reports the error. */
void boot_error_write(int record_dir, const char *stage, const struct err *why);
void boot_error_erase(int record_dir);
