/* Runs the program cordon-image, which does the work on images, and waits for it. */
#pragma once

#include "base/err.h"
#include "spec/spec.h"

#define IMAGER_HINT_BYTES 256

/* Adds "cordon-image COMMAND --home HOME" to ARGV; the options and words of the command follow. */
void imager_words(struct strv *argv, const char *command, const char *home);
/* Fills RET with our own environment and MSB_PATH, for programs that call us back: credential helpers and their
 * children. An MSB_PATH that the caller has set stays. MSB_PATH is not a variable of sandboxes. */
void imager_environment(struct strv *ret);
/* Runs cordon-image with our standard input, outputs and environment. The program draws its own
 * progress. If it fails, it sends the reason over a pipe; E is filled with that reason. HINT
 * holds the text of E's hint and must live as long as E. */
MUST_USE int imager_run(const struct strv *argv, char hint[IMAGER_HINT_BYTES], struct err *e);
