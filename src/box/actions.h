/* The table of actions. Before an action runs, its context, its grant and its generation are
 * checked. */
#pragma once

#include "box/rpc.h"

/* Runs an action. The action ends with action_succeed() or action_fail(), perhaps before
 * actions_run() returns. */
void actions_run(struct action *a);
/* Cancels an action whose connection is gone, and sends no answer. Frees the action now or when its
 * work ends. */
void actions_cancel(struct action *a);
/* Returns false if a newer generation of the Workspace has taken over since the action began. */
bool actions_may_answer(struct action *a, struct fault *f);
