/*
 * Merges layers into one tree with the content that a sandbox's overlay would show. The flat form
 * of an image is made this way. The layers are only read.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"

/* The worker `merge`. ARG is the list of layers, and stdin is the directory that holds them. */
int merge_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e);
