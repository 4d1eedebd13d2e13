/*
 * The file agent is a process in the sandbox that copies files into and out of the sandbox.
 *
 * The agent runs as root of the sandbox, behind the same walls as a command. Before it writes to a
 * shared directory, it changes to the ids of the user as whom the sandbox's commands run. So
 * whatever files are in the sandbox, the agent can do no more than the payload can do itself. The
 * agent uses no program of the image. It reads and writes records (wire/file.h) on its standard
 * input and output.
 */
#pragma once

#include <stdint.h>

struct file_message;

/* The arguments of agent_main(). */
struct agent_args {
	const struct file_message *message;
	uint32_t owner_uid, owner_gid; /* the user as whom the sandbox's commands run, or root */
};

/* ARG is a struct agent_args. Returns the exit status. The client learns everything else from the
 * records. */
int agent_main(const void *arg);
