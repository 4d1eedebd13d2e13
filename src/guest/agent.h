/*
 * The file agent copies files into and out of the sandbox, from inside.
 *
 * The agent runs as root of the sandbox, behind the same walls as a command. It takes on the ids of the user who works
 * in the sandbox before it writes to a directory that is shared with this user. So files in the sandbox cannot make the agent
 * do more than the payload can do itself. The agent uses no program of the image. It reads and writes records
 * (wire/file.h) on its standard input and output.
 */
#pragma once

#include <stdint.h>

struct file_message;

struct agent_job {
	const struct file_message *message;
	uint32_t owner_uid, owner_gid; /* the user who works in the sandbox, or root */
};

/* ARG is a struct agent_job. Returns the exit status. The client learns everything else from the records. */
int agent_main(const void *arg);
