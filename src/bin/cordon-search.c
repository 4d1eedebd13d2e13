/*
 * Searches files with a regular expression that a model wrote. `cordon tool grep` starts this
 * program. It is a separate program for two reasons. It needs a library for regular expressions,
 * and the other tools should not load this library. It also reads hostile text, so it first
 * confines itself. Descriptor 3 is the directory or the file to search, or a pipe with a stream of
 * files (search/stream.h). The result is a JSON object. If EXPRESSION or INCLUDE is bad, the exit
 * status is 2. If the expression takes too long, it is 3. In both cases the output is an error
 * message instead of the result. For other failures the exit status is 1.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/io.h"
#include "base/say.h"
#include "search/grep.h"

#define SEARCH_USAGE "usage: cordon-search EXPRESSION INCLUDE 3<DIRECTORY\n"
#define SEARCH_FD 3
#define CPU_SEC 10 /* `cordon tool grep` has a shorter time-out */
#define OUTPUT_MAX_BYTES (1u << 20)

enum { STATUS_FAILED = 1, STATUS_INVALID = 2, STATUS_LATE = 3 };

/* After this call the program can only read descriptor 3 and, if this is a directory, the files
 * below it, and write its output. */
static int confine(struct err *e)
{
	const uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	struct confine_files f;
	struct stat st;
	bool dir = fstat(SEARCH_FD, &st) == 0 && S_ISDIR(st.st_mode);
	int r = -1;

	/* if root runs this program, the program keeps the right to read files of every owner, as
	 * the tool `read` does */
	if (confine_limit(RLIMIT_CPU, CPU_SEC, e) == 0 && confine_core(e) == 0 &&
	    confine_capabilities(CONFINE_CAP(CAP_DAC_READ_SEARCH), e) == 0 &&
	    confine_files_begin(&f, e) == 0) {
		if ((!dir || confine_files_allow(&f, SEARCH_FD, read, e) == 0) &&
		    confine_files_end(&f, e) == 0)
			r = confine_calls(reader_filter, reader_filter_len, e);
		confine_files_done(&f);
	}
	return r < 0 ? err_wrap(e, "confine cordon-search") : 0;
}

static int search(const char *expression, const char *include, struct err *e)
{
	AUTO_BUF out = BUF_INIT(OUTPUT_MAX_BYTES);
	struct json_writer w;

	json_writer_init(&w, &out, 0);
	if (grep_run(SEARCH_FD, expression, include, &w, e) < 0) {
		buf_clear(&out);
		buf_add_str(&out, e->msg);
		/* if the message is lost, the exit status still says that the search failed */
		IGNORE(io_write_all(STDOUT_FILENO, buf_str(&out), out.n));
		return e->code == ERR_INVALID ? STATUS_INVALID : STATUS_LATE;
	}
	return io_write_all(STDOUT_FILENO, buf_str(&out), out.n) < 0 ? STATUS_FAILED : 0;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };

	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		printf("cordon-search %s\n", CORDON_VERSION);
		return 0;
	}
	if (argc != 3) {
		fputs(SEARCH_USAGE, stderr);
		return STATUS_FAILED;
	}
	signal(SIGPIPE, SIG_IGN);
	if (confine(&e) < 0) {
		say_error(&e);
		return STATUS_FAILED;
	}
	return search(argv[1], argv[2], &e);
}
