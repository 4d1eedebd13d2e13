#include "logs/entry.h"

#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"

void entry_init(struct entry *e)
{
	*e = (struct entry){ 0 };
	buf_init(&e->bytes, ENTRY_LINE_MAX_BYTES);
}

void entry_done(struct entry *e)
{
	json_freep(&e->doc);
	buf_done(&e->bytes);
}

static int source_of(const char *name)
{
	for (unsigned i = 0; i <= LOG_NET; i++)
		if (strcmp(name, execlog_source_name(i)) == 0)
			return (int)i;
	return -1;
}

static int take_body(struct entry *e, const struct json_value *v)
{
	const struct json_value *d = json_get(v, "d");
	const char *encoding = json_get_str(v, "e", "");

	if (!d || d->type != JSON_STRING)
		return -EINVAL;
	if (!*encoding) {
		e->body = d->string;
		return 0;
	}
	buf_clear(&e->bytes);
	if (strcmp(encoding, "b64") != 0 || base64_decode(&e->bytes, d->string.p, d->string.n) < 0)
		return -EINVAL;
	e->body = (struct str){ buf_str(&e->bytes), e->bytes.n };
	return 0;
}

int entry_parse(struct entry *e, struct str line)
{
	const struct json_value *v;
	struct err ignored;
	int64_t id;
	int source;

	json_freep(&e->doc);
	if (line.n > ENTRY_LINE_MAX_BYTES || json_parse(line.p, line.n, &e->doc, &ignored) < 0)
		return -EINVAL;
	v = json_root(e->doc);
	e->line = line;
	e->time = json_get_str(v, "t", "");
	source = source_of(json_get_str(v, "s", ""));
	id = json_get_int(v, "id", 0);
	if (source < 0 || id < 0 || clock_parse_rfc3339(e->time, &e->t_ns) < 0)
		return -EINVAL;
	e->source = (enum execlog_source)source;
	e->id = (uint64_t)id;
	return take_body(e, v);
}

/* Cuts the time off a line such as "2026-01-02T03:04:05.678Z TEXT", which base/log.h writes.
 * Returns false if LINE does not begin with a time. */
static bool cut_stamp(struct str *line, uint64_t *ret_ns)
{
	static const char like[] = "2026-01-02T03:04:05.678Z ";
	char stamp[sizeof(like)] = "";

	if (line->n < sizeof(like) - 1 || line->p[sizeof(like) - 2] != ' ')
		return false;
	memcpy(stamp, line->p, sizeof(like) - 2);
	if (clock_parse_rfc3339(stamp, ret_ns) < 0)
		return false;
	line->p += sizeof(like) - 1;
	line->n -= sizeof(like) - 1;
	return true;
}

void entry_from_text(struct entry *e, struct str line, uint64_t t_ns)
{
	json_freep(&e->doc);
	IGNORE(cut_stamp(&line, &t_ns)); /* if the line has no time, T_NS stays */
	clock_rfc3339_ms(t_ns, e->stamp);
	e->line = (struct str){ 0 };
	e->t_ns = t_ns;
	e->time = e->stamp;
	e->source = LOG_SYSTEM;
	e->id = 0;
	e->body = line;
}
