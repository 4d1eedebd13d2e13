/* Tests every transition of a command's start by sequences of events. */
#include "guest/start.h"

#include "t.h"

#define MAX_STEPS 8

struct sequence {
	const char *name;
	struct {
		enum start_event event;
		enum start_state state;
		enum start_action action;
	} step[MAX_STEPS];
	unsigned n;
};

/* clang-format off */
static const struct sequence sequences[] = {
	{ "a launcher begins, and the command ends after pid 1 looked", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_SEEN,       START_RUNNING,   START_TELL_BEGAN },
		{ START_EXITED,     START_ENDED,     START_TELL_ENDED } }, 3 },
	{ "the command of a launcher ends before pid 1 looked", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_EXITED,     START_ENDED,     START_TELL_ENDED } }, 2 },
	{ "a launcher's command cannot be executed, and ends before pid 1 looked", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_UNEXECUTED, START_FAILED,    START_TELL_FAILED } }, 2 },
	{ "… or after", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_SEEN,       START_RUNNING,   START_TELL_BEGAN },
		{ START_UNEXECUTED, START_FAILED,    START_TELL_FAILED } }, 3 },
	{ "a slow launcher begins late", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_NOT_SEEN,   START_LATE,      START_LOOK_LATE },
		{ START_SEEN,       START_RUNNING,   START_TELL_BEGAN } }, 3 },
	{ "the command of a slow launcher ends before pid 1 looked again", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_NOT_SEEN,   START_LATE,      START_LOOK_LATE },
		{ START_EXITED,     START_ENDED,     START_TELL_ENDED } }, 3 },
	{ "the command of a slow launcher cannot be executed", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_NOT_SEEN,   START_LATE,      START_LOOK_LATE },
		{ START_UNEXECUTED, START_FAILED,    START_TELL_FAILED } }, 3 },
	{ "a stopped launcher is overdue, and pid 1 clones", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_NOT_SEEN,   START_LATE,      START_LOOK_LATE },
		{ START_NOT_SEEN,   START_LATE,      START_END_LAUNCHER },
		{ START_GONE,       START_ALONE,     START_CLONE },
		{ START_CLONED,     START_BORN,      START_LOOK_LATE },
		{ START_EXECUTED,   START_RUNNING,   START_TELL_BEGAN },
		{ START_EXITED,     START_ENDED,     START_TELL_ENDED } }, 7 },
	{ "an overdue launcher began in the last moment", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_NOT_SEEN,   START_LATE,      START_LOOK_LATE },
		{ START_NOT_SEEN,   START_LATE,      START_END_LAUNCHER },
		{ START_SEEN,       START_RUNNING,   START_TELL_BEGAN } }, 4 },
	{ "a launcher could not clone, and pid 1 cannot either", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_STUCK,      START_LATE,      START_END_LAUNCHER },
		{ START_GONE,       START_ALONE,     START_CLONE },
		{ START_NOT_CLONED, START_FAILED,    START_TELL_FAILED } }, 4 },
	{ "a late launcher could not clone", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_NOT_SEEN,   START_LATE,      START_LOOK_LATE },
		{ START_STUCK,      START_LATE,      START_END_LAUNCHER } }, 3 },
	{ "a launcher died before it began", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_GONE,       START_ALONE,     START_CLONE } }, 2 },
	{ "a launcher died after it began: the command lives", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_SEEN,       START_RUNNING,   START_TELL_BEGAN },
		{ START_SEEN,       START_RUNNING,   START_DO_NOTHING },
		{ START_GONE,       START_RUNNING,   START_DO_NOTHING } }, 4 },
	{ "killed before the start: pid 1 does not clone", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_CANCEL,     START_CANCELLED, START_DO_NOTHING },
		{ START_GONE,       START_ENDED,     START_TELL_ENDED } }, 3 },
	{ "killed while the launcher was late", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_NOT_SEEN,   START_LATE,      START_LOOK_LATE },
		{ START_CANCEL,     START_CANCELLED, START_DO_NOTHING },
		{ START_NOT_SEEN,   START_CANCELLED, START_END_LAUNCHER },
		{ START_GONE,       START_ENDED,     START_TELL_ENDED } }, 5 },
	{ "killed, and the launcher could not clone", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_CANCEL,     START_CANCELLED, START_DO_NOTHING },
		{ START_STUCK,      START_CANCELLED, START_END_LAUNCHER },
		{ START_GONE,       START_ENDED,     START_TELL_ENDED } }, 4 },
	{ "killed, but the launcher had begun: the command is seen", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_CANCEL,     START_CANCELLED, START_DO_NOTHING },
		{ START_SEEN,       START_RUNNING,   START_TELL_BEGAN },
		{ START_EXITED,     START_ENDED,     START_TELL_ENDED } }, 4 },
	{ "… or ends unseen", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_CANCEL,     START_CANCELLED, START_DO_NOTHING },
		{ START_EXITED,     START_ENDED,     START_TELL_ENDED } }, 3 },
	{ "… or could not be executed", {
		{ START_TAKEN,      START_ORDERED,   START_LOOK_SOON },
		{ START_CANCEL,     START_CANCELLED, START_DO_NOTHING },
		{ START_UNEXECUTED, START_FAILED,    START_TELL_FAILED } }, 3 },
	{ "pid 1 clones and hears of the exec", {
		{ START_CLONED,     START_BORN,      START_LOOK_LATE },
		{ START_EXECUTED,   START_RUNNING,   START_TELL_BEGAN },
		{ START_EXITED,     START_ENDED,     START_TELL_ENDED } }, 3 },
	{ "the process ended before pid 1 heard of the exec", {
		{ START_CLONED,     START_BORN,      START_LOOK_LATE },
		{ START_EXITED,     START_ENDED,     START_TELL_BOTH } }, 2 },
	{ "the program cannot be executed", {
		{ START_CLONED,     START_BORN,      START_LOOK_LATE },
		{ START_UNEXECUTED, START_FAILED,    START_TELL_FAILED } }, 2 },
	{ "root inside stopped the process: it counts as begun, and may still fail", {
		{ START_CLONED,     START_BORN,      START_LOOK_LATE },
		{ START_SILENT,     START_RUNNING,   START_TELL_BEGAN },
		{ START_EXECUTED,   START_RUNNING,   START_DO_NOTHING },
		{ START_UNEXECUTED, START_FAILED,    START_TELL_FAILED } }, 4 },
	{ "a process that exists is killed by its pid: cancelling changes nothing", {
		{ START_CLONED,     START_BORN,      START_LOOK_LATE },
		{ START_CANCEL,     START_BORN,      START_DO_NOTHING },
		{ START_EXITED,     START_ENDED,     START_TELL_BOTH } }, 3 },
	{ "an agent executes nothing", {
		{ START_AGENT,      START_RUNNING,   START_DO_NOTHING },
		{ START_CANCEL,     START_RUNNING,   START_DO_NOTHING },
		{ START_EXITED,     START_ENDED,     START_TELL_ENDED } }, 3 },
	{ "nothing can be cloned: the caller hears it at once", {
		{ START_NOT_CLONED, START_FAILED,    START_DO_NOTHING } }, 1 },
};
/* clang-format on */

static bool covered[START_STATE_COUNT][START_EVENT_COUNT];

static void every_sequence_of_events(void)
{
	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
		const struct sequence *s = &sequences[i];
		enum start_state state = START_NEW;

		for (unsigned k = 0; k < s->n; k++) {
			struct start_step next = start_next(state, s->step[k].event);

			if (next.state != s->step[k].state || next.action != s->step[k].action)
				T_FAIL("%s, step %u: state %d, action %d", s->name, k + 1,
				       (int)next.state, (int)next.action);
			covered[state][s->step[k].event] = true;
			state = next.state;
		}
	}
}

/* Checks that the sequences are complete: if start_next() changes the state or asks for an action,
 * some sequence above has this event in this state. */
static void every_row_is_reached(void)
{
	for (int state = 0; state < START_STATE_COUNT; state++)
		for (int event = 0; event < START_EVENT_COUNT; event++) {
			struct start_step next =
				start_next((enum start_state)state, (enum start_event)event);
			bool does = next.state != (enum start_state)state ||
				    next.action != START_DO_NOTHING;

			if (does && !covered[state][event])
				T_FAIL("state %d, event %d: no sequence", state, event);
		}
}

static void no_event_changes_the_end(void)
{
	for (int event = 0; event < START_EVENT_COUNT; event++) {
		T_INT(start_next(START_ENDED, (enum start_event)event).state, START_ENDED);
		T_INT(start_next(START_ENDED, (enum start_event)event).action, START_DO_NOTHING);
		T_INT(start_next(START_FAILED, (enum start_event)event).state, START_FAILED);
		T_INT(start_next(START_FAILED, (enum start_event)event).action, START_DO_NOTHING);
	}
}

int main(void)
{
	T_RUN(every_sequence_of_events);
	T_RUN(every_row_is_reached);
	T_RUN(no_event_changes_the_end);
	return t_end();
}
