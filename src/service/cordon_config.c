#include "service/cordon_config.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "spec/grammar.h"

#define SECTION "cordon"

static int read_engine(const struct box_config *c, enum spec_engine *ret, struct fault *f)
{
	struct str own = box_config_text(c, SECTION, "engine");
	AUTO_FREE char *word = xstrndup(own.n ? own.p : "auto", own.n ? own.n : 4);
	int i = word_index(spec_engine_words, word);

	if (i < 0)
		return fault_set(f, FAULT_VALUE, "box.cordon.engine must be auto, process or vm");
	*ret = (enum spec_engine)i;
	return 0;
}

int cordon_config_read(const struct box_config *c, struct cordon_config *ret, struct fault *f)
{
	struct str image = box_config_text(c, SECTION, "image");
	enum spec_engine engine = ENGINE_AUTO;

	if (read_engine(c, &engine, f) < 0)
		return -1;
	*ret = (struct cordon_config){ .engine = engine };
	ret->log_output = box_config_flag(c, SECTION, "log_output", false);
	ret->image = image.n ? xstrndup(image.p, image.n) : xstrdup("host");
	box_config_list(c, SECTION, "net", &ret->net);
	return 0;
}

void cordon_config_done(struct cordon_config *c)
{
	free(c->image);
	model_texts_done(&c->net);
	*c = (struct cordon_config){ 0 };
}
