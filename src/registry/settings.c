#include "registry/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/io.h"

int settings_read(int home_fd, struct settings *ret, struct err *e)
{
	const char *path = getenv("MSB_CONFIG_PATH");
	AUTO_BUF text = BUF_INIT(SETTINGS_MAX_BYTES);
	int r;

	*ret = (struct settings){ 0 };
	if (path && *path)
		r = io_read_file(AT_FDCWD, path, &text);
	else
		r = io_read_file(home_fd, path = "config.json", &text);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return err_sys(e, -r, "read '%s'", path);
	if (json_parse(buf_str(&text), text.n, &ret->doc, e) < 0)
		return err_wrap(e, "%s", path);
	return 0;
}

void settings_done(struct settings *s)
{
	json_free(s->doc);
	s->doc = NULL;
}

static const struct json_value *registries(const struct settings *s)
{
	return s->doc ? json_get(json_root(s->doc), "registries") : NULL;
}

const char *settings_ca_certs(const struct settings *s)
{
	return json_get_str(registries(s), "ca_certs", NULL);
}

const struct json_value *settings_host(const struct settings *s, const char *host)
{
	return json_get(json_get(registries(s), "hosts"), host);
}
