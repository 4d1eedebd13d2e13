/*
 * The file agent copies files into and out of the sandbox, from inside.
 *
 * The agent runs as root of the sandbox, behind the same walls as a command. So files in the sandbox cannot make the agent
 * do more than the payload can do itself. The agent uses no program of the image. It reads and writes records
 * (wire/file.h) on its standard input and output.
 */
#pragma once

/* ARG is a struct file_message. Returns the exit status. The client learns everything else from the records. */
int agent_main(const void *arg);
