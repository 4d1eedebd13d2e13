/*
 * Writes the files of an image archive to disk, with numbers as names, and returns their names in the archive. The
 * parent of this worker reads these files (load.c). So the parent never parses the format of the archive.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"

#define STAGE_FILES_MAX 20000u         /* enough for some hundred images of a hundred layers */
#define STAGE_NAME_MAX_BYTES 512u      /* blobs/sha256/HEX and VERSION files are far shorter */
#define STAGE_BYTES_MAX (256ull << 30) /* for all files together */

/* The worker `stage`. Answers {"files":[{"file":0,"name":"manifest.json"},{"link":"b","name":"a"}]}. */
int stage_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e);
