/*
 * The file agent: copies files in and out of the sandbox from inside it.
 *
 * It runs as a command would, as the sandbox's root behind all walls, so whatever the files in here
 * make it do, the payload could have done itself. No program of the image takes part. It speaks
 * records (wire/file.h) on its standard input and output.
 */
#pragma once

/* ARG is a struct file_message. Returns the exit status; everything else was said in records. */
int agent_main(const void *arg);
