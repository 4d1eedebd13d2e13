/* The server process, which reads what peers send. The parent of this process (box/parent.h) has
 * already made everything that needs a privilege or a file. */
#pragma once

#include "box/settings.h"

enum serve_fd {
	SERVE_FD_LISTENER = 3, /* missing in stdio mode if the port could not be opened */
	SERVE_FD_HANDS = 4,
	SERVE_FD_SKILLS = 5, /* the channel on which the server asks for a skill worker */
};

/* Runs until a signal comes or the parent ends; in stdio mode also until the peer on standard input
 * is gone. Returns the exit status. The server takes over `S->trust`. */
int serve(struct settings *s);
