/*
 * A worker writes the files of an image archive to disk. The worker names the files by numbers, and
 * returns the names that they have in the archive. The parent of this worker reads these files
 * (store/load.c). So the parent never parses the format of the archive.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"

/* enough for about a hundred images with a hundred layers each */
#define STAGE_FILES_MAX 20000u
#define STAGE_NAME_MAX_BYTES 512u      /* names such as blobs/sha256/HEX are far shorter */
#define STAGE_BYTES_MAX (256ull << 30) /* for all files together */

/* The worker `stage`. Answers for example
 * {"files":[{"file":0,"name":"manifest.json"},{"hard":false,"link":"b","name":"a"}]}: the content
 * of manifest.json is in the file 0 of WORKER_DIR_FD (store/worker.h), and `a` is a symbolic link
 * to `b`. */
int stage_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e);
