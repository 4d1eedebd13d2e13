/* Runs the program cordon-image, which does the work on images, and waits for it. */
#pragma once

#include "base/err.h"
#include "spec/spec.h"

#define IMAGER_HINT_BYTES 256

/* Adds "cordon-image COMMAND --home HOME" to ARGV. The caller then adds the options and words of
 * COMMAND. */
void imager_words(struct strv *argv, const char *command, const char *home);
/* Fills RET with our own environment and MSB_PATH. MSB_PATH is the path of the program that
 * credential helpers and their children run: `msb` if it is installed, otherwise `cordon`. If the
 * environment already has MSB_PATH, its value stays. Sandboxes do not get MSB_PATH. */
void imager_environment(struct strv *ret);
/* Runs cordon-image with our standard input, standard output and standard error, and with the
 * environment of imager_environment(). The program shows its own progress. If the program fails,
 * it sends the reason over a pipe, and imager_run() fills E with this reason. HINT holds the text
 * of E's hint and must live as long as E. */
MUST_USE int imager_run(const struct strv *argv, char hint[IMAGER_HINT_BYTES], struct err *e);
