/* The table of actions, and what happens between a request and the work that it asks for: context, admission, fence. */
#pragma once

#include "box/rpc.h"

/* Runs an action; action_succeed() or action_fail() follows, perhaps at once. */
void actions_run(struct action *a);
/* The connection is gone: nobody is told any more. Frees the action, at once or when what it began is over. */
void actions_cancel(struct action *a);
/* False when a newer generation of the workspace has taken over since the action began. */
bool actions_may_answer(struct action *a, struct fault *f);
