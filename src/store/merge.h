/*
 * Layers laid over each other in one tree, as the overlay of a sandbox shows them: the flat form of
 * an image is made by this. Layers are only read.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "image/store.h"

/* The worker `merge`: LIST is its argument, the layers are its stdin. */
int merge_run(const char *arg, enum layer_owners owners, struct json_writer *reply, struct err *e);
