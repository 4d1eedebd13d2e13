/* The server process, which reads peers. Its parent (box/parent.h) made everything that needs a privilege or a file. */
#pragma once

#include "box/settings.h"

enum serve_fd {
	SERVE_FD_LISTENER = 3, /* missing in stdio mode if the port was taken */
	SERVE_FD_HANDS = 4,
	SERVE_FD_SKILLS = 5, /* the channel on which the server asks for a skill worker */
};

/* Runs until a signal or the end of the parent stops it. Returns the exit status. Takes over the trust of S. */
int serve(struct settings *s);
