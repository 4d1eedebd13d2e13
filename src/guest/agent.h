/*
 * The file agent copies files into and out of the sandbox, from inside.
 *
 * It runs as a command does, as the sandbox's root behind all walls. So whatever the files in the sandbox make it do, the
 * payload could do itself. It uses no program of the image. It speaks records (wire/file.h) on its
 * standard input and output.
 */
#pragma once

/* ARG is a struct file_message. Returns the exit status. The client learns everything else from the records. */
int agent_main(const void *arg);
