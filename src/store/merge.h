/*
 * Merges layers into one tree. The tree has the content that a sandbox's overlay of these layers
 * would show. The flat form of an image is made this way. The layers themselves do not change.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"

/* The worker `merge`. ARG is the list of layers, and stdin is the directory that holds them. */
int merge_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e);
