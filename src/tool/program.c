#include "tool/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/say.h"
#include "endpoint/connector.h"
#include "service/host_path.h"
#include "service/quota.h"
#include "service/resolution.h"
#include "tool/errors.h"
#include "tool/file_tools.h"
#include "tool/path_mask.h"
#include "tool/status.h"
#include "tool/text.h"

#define CONFIG_MAX_BYTES (1u << 20)
#define ARGUMENT_MAX_BYTES (16u << 20) /* far more than a model writes in one call */
#define OUTPUT_MAX_BYTES (64u << 20)

/* What one call needs. */
struct call {
	const struct options *options;
	const struct interrupts *interrupts;
	struct json_doc *config_doc, *query_doc, *argument_doc;
	struct service_config config;
	struct query query;
	bool read_only;   /* --workspace DIR:ro */
	const char *hint; /* static text: what a model can do after a failure; or NULL */
	struct connector runtime;
	/* the call of a model has begun, so its failure is added to the list of errors */
	bool worked;
	struct buf out;
	struct json_writer w;
};

static void call_done(struct call *c)
{
	connector_done(&c->runtime);
	service_config_done(&c->config);
	json_free(c->config_doc);
	json_free(c->query_doc);
	json_free(c->argument_doc);
	buf_done(&c->out);
}

/* --- input of a call ------------------------------------------------------------------------- */

static int read_json(const char *what, const char *text, struct json_doc **ret, struct fault *f)
{
	struct err e;

	if (json_parse_lenient(text, strlen(text), ret, &e) < 0)
		return fault_set(f, FAULT_VALIDATION, "%s is no JSON: %s", what, e.msg);
	return 0;
}

static int read_config(struct call *c, struct fault *f)
{
	const char *path = c->options->config;
	AUTO_BUF text = BUF_INIT(CONFIG_MAX_BYTES);
	AUTO_FD fd = -1;
	int r;

	if (!path)
		return service_config_read(NULL, c->options->standalone, &c->config, f);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	r = fd < 0 ? -errno : io_read_to_end(fd, &text);
	if (r < 0)
		return fault_set(f, FAULT_VALIDATION, "--config: read '%s': %s", path,
				 strerror(-r));
	if (read_json("--config", buf_str(&text), &c->config_doc, f) < 0)
		return -1;
	return service_config_read(json_root(c->config_doc), c->options->standalone, &c->config, f);
}

/* Reads the value of --workspace: DIR or DIR:ro. */
static int read_workspace(struct call *c, struct fault *f)
{
	const char *word = c->options->workspace;
	AUTO_FREE char *real = NULL;
	size_t n;

	if (!word)
		return 0;
	n = strlen(word);
	if (n > 3 && strcmp(word + n - 3, ":ro") == 0) {
		c->read_only = true;
		n -= 3;
	}
	if (n == 0)
		return fault_set(f, FAULT_VALIDATION, "--workspace needs a directory");
	real = host_path_real(NULL, (struct str){ word, n });
	service_config_set_workspace(&c->config, real);
	return 0;
}

static int read_limit(struct call *c, struct fault *f)
{
	const char *word = c->options->output_limit;
	uint64_t limit;

	if (!word)
		return 0;
	if (parse_u64(word, 0, SERVICE_OUTPUT_LIMIT_MAX_CHARS, &limit) < 0)
		return fault_set(f, FAULT_VALIDATION,
				 "--output-limit must be a number from 0 to %d",
				 SERVICE_OUTPUT_LIMIT_MAX_CHARS);
	c->config.output_limit_chars = (int64_t)limit;
	return 0;
}

/* If the argument is `-`, reads standard input: the kernel limits each word of a command line to
 * 128 KiB. */
static int read_argument(struct call *c, struct fault *f)
{
	AUTO_BUF text = BUF_INIT(ARGUMENT_MAX_BYTES);
	int r;

	if (!c->options->json)
		return 0;
	if (strcmp(c->options->json, "-") != 0)
		return read_json("the argument", c->options->json, &c->argument_doc, f);
	r = io_read_to_end(STDIN_FILENO, &text);
	if (r < 0)
		return fault_set(f, FAULT_VALIDATION, "read the argument: %s", strerror(-r));
	return read_json("the argument", buf_str(&text), &c->argument_doc, f);
}

static int call_read(struct call *c, struct fault *f)
{
	const struct options *o = c->options;

	if (read_config(c, f) < 0 || read_workspace(c, f) < 0 || read_limit(c, f) < 0)
		return -1;
	if (o->query && read_json("--query", o->query, &c->query_doc, f) < 0)
		return -1;
	if (query_read(c->query_doc ? json_root(c->query_doc) : NULL, &c->query, f) < 0)
		return -1;
	if (o->session && c->config.forced_template)
		return fault_set(f, FAULT_VALIDATION,
				 "--session: the configuration forces the session id template '%s'",
				 c->config.forced_template);
	return read_argument(c, f);
}

/* --- the runtime ------------------------------------------------------------------------------ */

/* Sets *F to the fault that no runtime is available, and returns -1. This fault is not added to the
 * list of errors. */
static int is_unavailable(const struct call *c, struct fault *f)
{
	return fault_set(f, FAULT_BOX,
			 "Box runtime is not available. Install and start Docker to use sandbox "
			 "features. The reason: %s",
			 c->runtime.unavailable.text);
}

/* --- running a call -------------------------------------------------------------------------- */

static struct way *way(const struct call *c)
{
	return c->runtime.way;
}

static const struct json_value *argument(const struct call *c)
{
	return c->argument_doc ? json_root(c->argument_doc) : NULL;
}

static void apply_read_only(const struct call *c, struct box_spec *s)
{
	if (c->read_only && s->host_path_mode == BOX_MODE_RW)
		s->host_path_mode = BOX_MODE_RO;
}

static int resolve(const struct call *c, struct box_spec *ret, struct fault *f)
{
	const struct json_value *v = argument(c);
	bool tool = strcmp(c->options->group, "tool") == 0 ||
		    (v && v->type == JSON_OBJECT && json_get(v, "command"));

	if ((tool ? resolve_tool(&c->config, v, &c->query, c->options->session, ret, f)
		  : resolve_payload(&c->config, v, ret, f)) < 0)
		return -1;
	apply_read_only(c, ret);
	return 0;
}

static int do_resolve(struct call *c, struct fault *f)
{
	struct box_spec s = { 0 };
	int r = resolve(c, &s, f);

	if (r == 0)
		box_spec_encode(&s, &c->w);
	box_spec_done(&s);
	return r;
}

/* Fails if the workspace is full. If PHASE is QUOTA_AFTER, this call has filled the workspace, so
 * check_quota() also ends the session. */
static int check_quota(struct call *c, const struct box_spec *s, enum quota_phase phase,
		       struct fault *f)
{
	AUTO_FAULT ignored = { 0 };

	if (quota_check(s, c->config.max_workspace_entries, phase, f) == 0)
		return 0;
	c->hint = "The workspace is full. Ask its owner to delete files or to raise the quota.";
	if (phase == QUOTA_AFTER) /* the caller gets the fault of the quota, not of end() */
		IGNORE(way(c)->row->end(way(c), s->session_id, &ignored));
	return -1;
}

static int execute(struct call *c, struct fault *f)
{
	struct box_spec s = { 0 };
	struct outcome o;
	int r;

	outcome_init(&o);
	r = resolve(c, &s, f);
	if (r == 0)
		r = box_spec_check_command(&s, f);
	if (r == 0)
		r = check_quota(c, &s, QUOTA_BEFORE, f);
	if (r == 0)
		r = way(c)->row->exec(way(c), &s, &o, f);
	if (r == 0)
		r = check_quota(c, &s, QUOTA_AFTER, f);
	if (r == 0)
		outcome_write(&o, c->config.output_limit_chars,
			      strcmp(c->options->group, "tool") == 0, &c->w);
	outcome_done(&o);
	box_spec_done(&s);
	return r;
}

/* Runs a call of a model. */
static int do_work(struct call *c, int (*work)(struct call *c, struct fault *f), struct fault *f)
{
	if (!way(c))
		return is_unavailable(c, f);
	c->worked = true;
	return work(c, f);
}

static int do_exec(struct call *c, struct fault *f)
{
	return do_work(c, execute, f);
}

static int handle_files(struct call *c, struct fault *f)
{
	const struct file_tool *tool = file_tool_find(c->options->verb);
	struct file_call call = { .config = &c->config,
				  .query = &c->query,
				  .way = way(c),
				  .parameters = argument(c),
				  .w = &c->w };
	struct box_spec s = { 0 };
	int r = resolve_session(&c->config, &c->query, c->options->session, &s, f);

	if (r == 0) {
		apply_read_only(c, &s);
		call.spec = &s;
		if (tool->writes)
			r = check_quota(c, &s, QUOTA_BEFORE, f);
	}
	if (r == 0) {
		r = tool->run(&call, f);
		c->hint = call.hint;
	}
	if (r == 0 && tool->writes)
		r = check_quota(c, &s, QUOTA_AFTER, f);
	box_spec_done(&s);
	return r;
}

static int do_file(struct call *c, struct fault *f)
{
	return do_work(c, handle_files, f);
}

static int do_sessions(struct call *c, struct fault *f)
{
	AUTO_FAULT why = { 0 };

	json_begin_array(&c->w);
	while (way(c) && way(c)->row->list(way(c), &c->w, &why) < 0)
		if (connector_again(&c->runtime, &why) < 0)
			log_line(LOG_WARN, "no sessions are listed: %s", why.text);
	json_end_array(&c->w);
	return 0;
}

static int do_errors(struct call *c, struct fault *f)
{
	json_begin_array(&c->w);
	errors_write(&c->w);
	json_end_array(&c->w);
	return 0;
}

static int do_cleanup(struct call *c, struct fault *f)
{
	const char *id = c->options->session;
	size_t n = 1;

	if (!way(c))
		return is_unavailable(c, f);
	if ((id ? way(c)->row->end(way(c), id, f) : way(c)->row->end_all(way(c), &n, f)) < 0)
		return -1;
	json_begin_object(&c->w);
	json_key_int(&c->w, "ended", (int64_t)n);
	json_end_object(&c->w);
	return 0;
}

static int do_status(struct call *c, struct fault *f)
{
	status_write(&c->config, way(c), &c->runtime.unavailable, errors_write(NULL), &c->w);
	return 0;
}

enum need {
	NEEDS_NOTHING,
	/* like NEEDS_RUNTIME, but the call does not wait for a server that restarts: it reports
	 * that the runtime is unavailable now */
	NEEDS_TRUTH,
	NEEDS_RUNTIME,
	NEEDS_SKILLS
};

static const struct verb {
	const char *group, *verb;
	bool argument;
	bool text; /* the answer is a table by default, because people read it */
	enum need need;
	int (*run)(struct call *c, struct fault *f);
} verbs[] = {
	{ "tool", "exec", true, false, NEEDS_SKILLS, do_exec },
	{ "tool", "read", true, false, NEEDS_SKILLS, do_file },
	{ "tool", "write", true, false, NEEDS_SKILLS, do_file },
	{ "tool", "edit", true, false, NEEDS_SKILLS, do_file },
	{ "tool", "glob", true, false, NEEDS_SKILLS, do_file },
	{ "tool", "grep", true, false, NEEDS_SKILLS, do_file },
	{ "service", "exec", true, false, NEEDS_RUNTIME, do_exec },
	{ "service", "resolve", true, false, NEEDS_SKILLS, do_resolve },
	{ "service", "status", false, true, NEEDS_TRUTH, do_status },
	{ "service", "sessions", false, true, NEEDS_RUNTIME, do_sessions },
	{ "service", "errors", false, true, NEEDS_NOTHING, do_errors },
	{ "service", "cleanup", false, false, NEEDS_RUNTIME, do_cleanup },
};

static void begin_answer(struct call *c)
{
	buf_clear(&c->out);
	json_writer_init(&c->w, &c->out, 2);
	c->hint = NULL;
}

/* Does the call. If the connection is lost, begins the call anew, but only if sending everything
 * again does no harm. The new call has a new connection and reads the skills again. */
static int run_verb(struct call *c, const struct verb *v, struct fault *f)
{
	int r;

	if (call_read(c, f) < 0)
		return -1;
	connector_init(&c->runtime, &c->config, c->interrupts, v->need == NEEDS_SKILLS,
		       v->need != NEEDS_TRUTH);
	if (v->need != NEEDS_NOTHING)
		connector_open(&c->runtime);
	while ((r = v->run(c, f)) < 0 && f->again && connector_again(&c->runtime, f) == 0)
		begin_answer(c);
	connector_close(&c->runtime);
	if (r < 0 && c->worked)
		errors_add(f, &c->query);
	return r;
}

/* Turns the answer of a verb with `text` into a table, unless the options ask for JSON. Leaves
 * other answers as JSON. */
static int show(struct call *c, const struct verb *v, struct fault *f)
{
	const char *format = c->options->format;
	bool text = format ? strcmp(format, "text") == 0 : v->text;
	AUTO_JSON doc = NULL;
	struct err e;

	if (format && strcmp(format, "json") != 0 && (!text || !v->text))
		return fault_set(f, FAULT_VALIDATION, "--format: '%s' is not known here", format);
	if (!text || json_parse(buf_str(&c->out), c->out.n, &doc, &e) < 0)
		return 0;
	buf_clear(&c->out);
	text_write(v->verb, json_root(doc), &c->out);
	return 0;
}

static int run(struct call *c, struct fault *f)
{
	const struct options *o = c->options;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].group, o->group) != 0 || strcmp(verbs[i].verb, o->verb) != 0)
			continue;
		if (verbs[i].argument != (o->json != NULL))
			return fault_set(f, FAULT_VALIDATION, "%s %s %s", o->group, o->verb,
					 verbs[i].argument ? "needs an argument in JSON"
							   : "takes no argument");
		return run_verb(c, &verbs[i], f) < 0 ? -1 : show(c, &verbs[i], f);
	}
	return fault_set(f, FAULT_VALIDATION, "there is no %s '%s'", o->group, o->verb);
}

/* Returns advice for a model, for failures about which the tool itself gives no advice. */
static const char *general_hint(enum fault_class class)
{
	switch (class) {
	case FAULT_VALIDATION:
		return "Correct the parameters and call the tool again.";
	case FAULT_SESSION_CONFLICT:
		return "The session has other settings. Ask the user to end it first.";
	default:
		return "Try again later, or tell the user that the sandbox failed.";
	}
}

/* Prints a failure as a result, because a model reads it. */
static void write_failure(struct call *c, const struct fault *f)
{
	AUTO_BUF text = BUF_INIT(2 * FAULT_TEXT_MAX * 4);

	if (strcmp(c->options->group, "tool") == 0)
		path_mask_write(&c->config, c->options->config, (struct str){ f->text, f->n },
				&text);
	else
		buf_add(&text, f->text, f->n);
	buf_clear(&c->out);
	json_writer_init(&c->w, &c->out, 2);
	json_begin_object(&c->w);
	json_key_bool(&c->w, "ok", false);
	json_key_str(&c->w, "error_type", fault_class_name(f->class));
	json_key(&c->w, "error");
	json_strn(&c->w, buf_str(&text), text.n);
	if (c->hint || strcmp(c->options->group, "tool") == 0)
		json_key_str(&c->w, "hint", c->hint ? c->hint : general_hint(f->class));
	json_end_object(&c->w);
}

int tool_program(const struct options *o, const struct interrupts *interrupts)
{
	struct call c = { .options = o,
			  .interrupts = interrupts,
			  .out = BUF_INIT(OUTPUT_MAX_BYTES) };
	AUTO_FAULT f = { 0 };
	struct err e = { 0 };
	int r;

	begin_answer(&c);
	r = run(&c, &f);
	if (r < 0)
		write_failure(&c, &f);
	if (c.out.n == 0 || c.out.p[c.out.n - 1] != '\n')
		buf_add_char(&c.out, '\n');
	if (say_data(&c.out, &e) < 0)
		r = say_error(&e);
	if (c.runtime.signal)
		r = 128 + c.runtime.signal; /* as a shell reports a command that a signal killed */
	call_done(&c);
	return r < 0 ? 1 : r;
}
