/* The process that reads peers. Its parent (box/parent.h) made everything that needs a privilege or a file. */
#pragma once

#include "box/settings.h"

enum serve_fd {
	SERVE_FD_LISTENER = 3, /* absent in stdio mode if the port was taken */
	SERVE_FD_HANDS = 4,
	SERVE_FD_SKILLS = 5, /* asks for the skill worker */
};

/* Runs until it is told to stop; the exit status. Takes what S says about trust. */
int serve(struct settings *s);
