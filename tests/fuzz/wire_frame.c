/* Reads any bytes as a stream of frames, in two pieces. Every decoder of both sides gets every
 * body. */
#include <stdint.h>

#include "wire/background.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int decode(void *arg, const struct frame *f)
{
	struct exec_message exec;
	struct boot_message boot;
	struct exit_message end;
	struct state_message state;
	struct look_message look;
	struct feed_message feed;
	struct command_message command;
	struct attached_message attached;
	struct signal_message signal;
	struct attach_message attach;
	struct hello hello;
	struct usage_message usage;
	struct limits_message limits;
	uint64_t number;
	uint32_t rows, cols;
	unsigned code;
	const char *text;

	if (exec_decode(f->body, &exec) == 0)
		exec_message_done(&exec);
	if (boot_decode(f->body, &boot) == 0)
		boot_message_done(&boot);
	IGNORE(exit_decode(f->body, &end));
	IGNORE(state_decode(f->body, &state));
	IGNORE(look_decode(f->body, &look));
	IGNORE(feed_decode(f->body, &feed));
	IGNORE(command_decode(f->body, &command));
	IGNORE(signal_decode(f->body, &signal));
	IGNORE(attach_decode(f->body, &attach));
	IGNORE(hello_decode(f->body, &hello) == 0 && hello_agree(&hello));
	IGNORE(started_decode(f->body, &number));
	IGNORE(attached_decode(f->body, &attached));
	IGNORE(number_decode(f->body, &number));
	IGNORE(usage_decode(f->body, &usage));
	IGNORE(limits_decode(f->body, &limits));
	IGNORE(error_decode(f->body, &code, &text));
	IGNORE(size_decode(f->body, &rows, &cols));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF in = BUF_INIT(1u << 20);
	size_t cut = size ? data[0] % (size + 1) : 0;

	if (frame_feed(&in, data, cut, decode, NULL) == 0)
		IGNORE(frame_feed(&in, data + cut, size - cut, decode, NULL));
	return 0;
}
