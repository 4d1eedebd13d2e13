/* The commands `load` and `save`, which read images from archives and write images to archives. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/say.h"
#include "store/commands.h"
#include "store/load.h"
#include "store/save.h"
#include "store/store.h"

/* --- load ----------------------------------------------------------------------------------- */

static void report_loaded(const char *reference, void *arg)
{
	const uint64_t *since_ns = arg;

	say_done("Loaded", reference, clock_mono_ns() - *since_ns);
}

int run_load(const struct options *o, struct err *e)
{
	uint64_t since_ns = clock_mono_ns();
	struct load_options lo = {
		.fd = STDIN_FILENO,
		.tags = o->tag,
		.n_tags = o->n_tags,
		.report = report_loaded,
		.report_arg = &since_ns,
	};
	AUTO_FD input = -1;
	struct store store;
	int r;

	if (o->input) {
		input = open(o->input, O_RDONLY | O_CLOEXEC);
		if (input < 0)
			return err_sys(e, errno, "--input: open '%s'", o->input);
		lo.fd = input;
	} else if (isatty(STDIN_FILENO)) {
		err_set(e, ERR_INVALID, "an archive cannot be read from a terminal");
		return err_hint(e, "name it with --input FILE");
	}
	if (store_open(o->home, &store, e) < 0)
		return -1;
	r = load_archive(&store, &lo, e);
	store_done(&store);
	if (r < 0)
		err_wrap(e, "load '%s'", o->input ? o->input : "stdin");
	return r;
}

/* --- save ----------------------------------------------------------------------------------- */

static int save_format(const struct options *o, enum save_format *ret, struct err *e)
{
	if (!o->format || strcmp(o->format, "docker") == 0)
		*ret = SAVE_DOCKER;
	else if (strcmp(o->format, "oci") == 0)
		*ret = SAVE_OCI;
	else
		return err_set(e, ERR_USAGE, "--format: '%s' is neither docker nor oci", o->format);
	return 0;
}

/* Writes to a temporary file and renames it, so that the file appears whole or not at all. A pipe
 * or a device is written to directly. */
static int save_to_file(const struct options *o, int home_fd, enum save_format format,
			struct err *e)
{
	AUTO_FREE char *temp = xasprintf("%s.%d.tmp", o->output, (int)getpid());
	bool direct;
	struct stat st;
	AUTO_FD fd = -1;

	direct = stat(o->output, &st) == 0 && !S_ISREG(st.st_mode);
	fd = direct ? open(o->output, O_WRONLY | O_CLOEXEC)
		    : open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_sys(e, errno, "--output: open '%s'", o->output);
	if (save_images(home_fd, o->arg, o->n_args, format, fd, e) < 0) {
		if (!direct)
			IGNORE(unlink(temp)); /* if this fails, still report the first error */
		return -1;
	}
	if (!direct && rename(temp, o->output) < 0) {
		err_sys(e, errno, "--output: write '%s'", o->output);
		IGNORE(unlink(temp)); /* if this fails, still report the first error */
		return -1;
	}
	return 0;
}

int run_save(const struct options *o, struct err *e)
{
	uint64_t since_ns = clock_mono_ns();
	enum save_format format = SAVE_DOCKER;
	struct store store;
	int r;

	if (save_format(o, &format, e) < 0)
		return -1;
	if (!o->output && isatty(STDOUT_FILENO)) {
		err_set(e, ERR_INVALID, "an archive cannot be written to a terminal");
		return err_hint(e, "name a file with --output FILE, or redirect stdout");
	}
	/* we hold the store's lock, so that no sweep removes what we read */
	if (store_open(o->home, &store, e) < 0)
		return -1;
	r = o->output ? save_to_file(o, store.home_fd, format, e)
		      : save_images(store.home_fd, o->arg, o->n_args, format, STDOUT_FILENO, e);
	store_done(&store);
	if (r == 0 && o->output)
		say_done("Saved", o->output, clock_mono_ns() - since_ns);
	return r;
}
