/* Reads any bytes as the output of a program, once whole and once byte by byte. Both ways must lead
 * to the same modes. A terminal that gets the text of screen_enter() and then the text of
 * screen_leave() must be back in the default modes. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/screen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF enter = BUF_INIT(SCREEN_TEXT_MAX_BYTES), leave = BUF_INIT(SCREEN_TEXT_MAX_BYTES);
	struct screen whole = { 0 }, bytes = { 0 }, again = { 0 };

	screen_feed(&whole, (const char *)data, size);
	for (size_t i = 0; i < size; i++)
		screen_take(&bytes, data[i]);
	if (whole.n_numbers > SCREEN_NUMBERS_MAX || whole.pushes[0] > SCREEN_PUSHES_MAX ||
	    whole.pushes[1] > SCREEN_PUSHES_MAX)
		abort();
	if (whole.modes != bytes.modes || whole.state != bytes.state || whole.undo != bytes.undo ||
	    whole.doubt != bytes.doubt || whole.pushes[0] != bytes.pushes[0] ||
	    whole.pushes[1] != bytes.pushes[1])
		abort();
	screen_enter(&whole, &enter);
	screen_leave(&whole, &leave);
	if (buf_failed(&enter) || buf_failed(&leave))
		abort();
	screen_feed(&again, enter.p, enter.n);
	if (screen_is_alternate(&again) != screen_is_alternate(&whole))
		abort();
	screen_feed(&again, leave.p, leave.n);
	if (again.modes || again.state || again.doubt || again.pushes[0] || again.pushes[1])
		abort();
	/* every mode that differs from its default must be among the modes that screen_leave()
	 * takes back */
	if (whole.modes & ~whole.undo)
		abort();
	return 0;
}
