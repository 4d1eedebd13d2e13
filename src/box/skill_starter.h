/* This code runs in the parent process of the Box server (box/parent.h). It starts the program
 * cordon-skills when the server process asks for it on a channel (service/skills.h). */
#pragma once

#include "base/err.h"
#include "loop/loop.h"

struct skill_starter;

/* Takes over CHANNEL. */
MUST_USE int skill_starter_new(struct loop *loop, int channel, struct skill_starter **ret,
			       struct err *e);
void skill_starter_free(struct skill_starter *s);
