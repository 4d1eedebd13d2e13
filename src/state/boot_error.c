#include "state/boot_error.h"

#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"

void boot_error_write(int record_dir, const char *stage, const struct err *why)
{
	AUTO_BUF b = BUF_INIT(8192);
	char now[CLOCK_RFC3339_BYTES];
	struct json_writer w;

	clock_rfc3339_ms(clock_real_ns(), now);
	json_writer_init(&w, &b, 0);
	json_begin_object(&w);
	json_key(&w, "errno");
	if (why->sys)
		json_int(&w, why->sys);
	else
		json_null(&w);
	json_key_str(&w, "message", why->msg);
	json_key_str(&w, "stage", stage);
	json_key_str(&w, "t", now);
	json_end_object(&w);
	IGNORE(io_replace_file(record_dir, BOOT_ERROR_FILE, buf_str(&b), b.n, 0600));
}

void boot_error_erase(int record_dir)
{
	IGNORE(unlinkat(record_dir, BOOT_ERROR_FILE, 0)); /* usually there is no such file */
}
