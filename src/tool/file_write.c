/* The tool `write`: makes a file, replaces its content or adds to it. */
#include "base/base64.h"
#include "base/cleanup.h"
#include "tool/parameters.h"
#include "tool/store.h"

struct request {
	struct str path, content;
	bool base64, append;
};

static int read_request(const struct file_call *c, struct request *r, struct fault *f)
{
	struct parameters p;

	parameters_init(&p, c->parameters, f);
	r->path = parameters_name(&p, "path", NULL);
	r->content = parameters_text(&p, "content", NULL);
	r->base64 = parameters_second(&p, "encoding", "text", "base64");
	r->append = parameters_second(&p, "mode", "overwrite", "append");
	return parameters_end(&p);
}

static int decode(struct file_call *c, struct request *r, struct buf *bytes, struct fault *f)
{
	if (!r->base64)
		return 0;
	if (base64_decode(bytes, r->content.p, r->content.n) < 0) {
		c->hint = "Send padded base64 without line breaks.";
		return fault_set(f, FAULT_VALIDATION,
				 "invalid base64 content: it is not padded base64 (RFC 4648)");
	}
	r->content = (struct str){ buf_str(bytes), bytes->n };
	return 0;
}

int file_write(struct file_call *c, struct fault *f)
{
	AUTO_BUF bytes = BUF_INIT(JSON_TEXT_MAX);
	AUTO_PLACE p = { .top = -1 };
	struct request r;

	if (read_request(c, &r, f) < 0 || decode(c, &r, &bytes, f) < 0 ||
	    place_find(c, r.path, &p, f) < 0 || place_check_writable(c, &p, f) < 0)
		return -1;
	return store_content(c, &p, r.content, r.append ? STORE_APPEND : STORE_REPLACE, NULL, f);
}
