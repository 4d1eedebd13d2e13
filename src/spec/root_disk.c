/*
 * --root-disk: SIZE | disk[:SIZE] | tmpfs[:SIZE] | flat[:SIZE][,fstype=T][,clone=C] |
 * PATH[:format=F,fstype=T]
 *
 * A value that has a '/' or starts with '.' is a path. If a '=' comes after the last ':', the
 * options begin after this ':'. All other colons belong to the path.
 */
#include "spec/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/bad.h"

struct disk_parse {
	const char *flag, *whole;
	struct spec_root_disk *d;
};

static int set_word(struct disk_parse *p, char **field, const char *key, const char *value,
		    const char *const *allowed, struct err *e)
{
	if (*field)
		return bad_value(e, p->flag, "root disk", p->whole, "'%s=' is given twice", key);
	if (allowed) {
		size_t i = 0;

		while (allowed[i] && strcmp(allowed[i], value) != 0)
			i++;
		if (!allowed[i])
			return bad_value(e, p->flag, "root disk", p->whole, "unknown %s '%.32s'",
					 key, value);
	} else if (!fstype_valid(value)) {
		return bad_value(e, p->flag, "root disk", p->whole,
				 "'%.32s' is not a file system name such as ext4", value);
	}
	*field = xstrdup(value);
	return 0;
}

/* Reads LIST, the options after `flat` or after a path, separated by commas. Changes LIST. */
static int options(struct disk_parse *p, char *list, struct err *e)
{
	static const char *const clones[] = { "auto", "copy", "reflink", NULL };
	static const char *const formats[] = { "raw", "qcow2", NULL };
	bool flat = p->d->kind == ROOT_DISK_FLAT;
	char *word;

	while ((word = strsep(&list, ","))) {
		int r;

		if (starts_with(word, "fstype="))
			r = set_word(p, &p->d->fstype, "fstype", word + 7, NULL, e);
		else if (flat && starts_with(word, "clone="))
			r = set_word(p, &p->d->clone, "clone", word + 6, clones, e);
		else if (!flat && starts_with(word, "format="))
			r = set_word(p, &p->d->format, "format", word + 7, formats, e);
		else
			r = bad_value(e, p->flag, "root disk", p->whole,
				      "unknown option '%.32s', use fstype= or %s", word,
				      flat ? "clone=" : "format=");
		if (r < 0)
			return -1;
	}
	return 0;
}

static int parse_path(struct disk_parse *p, char *text, struct err *e)
{
	char *colon = strrchr(text, ':');

	p->d->kind = ROOT_DISK_PATH;
	if (colon && strchr(colon, '='))
		*colon++ = '\0';
	else
		colon = NULL;
	if (!*text)
		return bad_value(e, p->flag, "root disk", p->whole, "the path is empty");
	if (path_absolute(text, &p->d->path, e) < 0)
		return -1;
	return colon ? options(p, colon, e) : 0;
}

/* Reads the text after "flat": "", ":SIZE", ",OPTIONS" or ":SIZE,OPTIONS". */
static int parse_flat(struct disk_parse *p, char *text, struct err *e)
{
	char *comma = strchr(text, ',');

	p->d->kind = ROOT_DISK_FLAT;
	if (comma)
		*comma++ = '\0';
	if (*text == ':' && parse_size_mib(p->flag, text + 1, &p->d->size_mib, e) < 0)
		return -1;
	return comma ? options(p, comma, e) : 0;
}

static int parse_any(struct disk_parse *p, char *text, struct err *e)
{
	if (strchr(text, '/') || *text == '.')
		return parse_path(p, text, e);
	if (starts_with(text, "flat") && (!text[4] || text[4] == ':' || text[4] == ','))
		return parse_flat(p, text + 4, e);
	if (starts_with(text, "tmpfs") && (!text[5] || text[5] == ':')) {
		p->d->kind = ROOT_DISK_TMPFS;
		return text[5] ? parse_size_mib(p->flag, text + 6, &p->d->size_mib, e) : 0;
	}
	p->d->kind = ROOT_DISK_MANAGED;
	if (starts_with(text, "disk") && (!text[4] || text[4] == ':')) {
		p->d->on_disk = true;
		p->d->explicit = text[4] != '\0'; /* "disk" alone asks for no size */
		return text[4] ? parse_size_mib(p->flag, text + 5, &p->d->size_mib, e) : 0;
	}
	if (strchr(text, ':') || strchr(text, ','))
		return bad_value(e, p->flag, "root disk", p->whole,
				 "options go with flat or a path only");
	return parse_size_mib(p->flag, text, &p->d->size_mib, e);
}

int parse_root_disk(const char *flag, const char *s, struct spec_root_disk *ret, struct err *e)
{
	AUTO_FREE char *text = xstrdup(s);
	struct spec_root_disk d = { .explicit = true, .asked = true };
	struct disk_parse p = { .flag = flag, .whole = s, .d = &d };

	if (parse_any(&p, text, e) < 0) {
		spec_root_disk_done(&d);
		return -1;
	}
	spec_root_disk_done(ret);
	*ret = d;
	return 0;
}
