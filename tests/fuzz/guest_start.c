/* Sends any events in any order to the state machine of a starting command (guest/start.h). Each
 * byte of the input is one event. The state machine must start the command at most once and not
 * after a cancellation, must report at most one beginning and at most one end, and must do nothing
 * after the end. */
#include <stdlib.h>

#include "guest/start.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum start_state state = START_NEW;
	unsigned began = 0, over = 0, clones = 0;
	bool cancelled = false, exists = false;

	for (size_t i = 0; i < size; i++) {
		enum start_event event = data[i] % START_EVENT_COUNT;
		struct start_step next = start_next(state, event);

		if (over && (next.state != state || next.action != START_DO_NOTHING))
			abort();
		if (next.action == START_CLONE && (exists || cancelled || ++clones > 1))
			abort(); /* a command must not run twice, nor after it was cancelled */
		if (next.state >= START_STATE_COUNT || next.state == START_NEW)
			if (state != START_NEW)
				abort();
		cancelled |= next.state == START_CANCELLED;
		exists |= next.state == START_BORN || next.state == START_RUNNING;
		began += next.action == START_TELL_BEGAN || next.action == START_TELL_BOTH;
		over += next.state == START_ENDED || next.state == START_FAILED
				? state != next.state
				: 0;
		state = next.state;
	}
	if (began > 1 || over > 1)
		abort();
	return 0;
}
