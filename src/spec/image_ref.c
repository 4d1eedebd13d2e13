/*
 * IMAGE is the word "host", a local path, or a registry reference
 *
 *     [host[:port]/]path[:tag][@digest]
 *
 * A local path may end in ",cow": the directory is then used copy-on-write. The ending is never a
 * part of the name, so a directory whose name ends in ",cow" is written with a slash at its end.
 *
 * The text is kept as the user wrote it, and only its shape is checked. The lookup of images
 * decides what a short name means (default registry, "library/", "latest").
 */
#include "spec/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/bad.h"

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
/* enough for a name of 255 bytes, a tag of 128 bytes and a sha256 digest */
#define REFERENCE_MAX_BYTES 512u
#define NAME_MAX_BYTES 255u /* registries refuse longer repository names */
#define TAG_MAX_BYTES 128u
#define DIGEST_PREFIX "sha256:" /* the image store knows no other kind of digest */
#define DIGEST_HEX_DIGITS 64u
#define COW ",cow"

/* Each function whose name ends in _fault returns NULL, or a text that says what is wrong. It may
 * change its argument, which is a copy. */

static const char *digest_fault(const char *d)
{
	const char *hex = d + strlen(DIGEST_PREFIX);

	if (starts_with(d, DIGEST_PREFIX) && strlen(hex) == DIGEST_HEX_DIGITS &&
	    strspn(hex, DIGITS "abcdef") == DIGEST_HEX_DIGITS)
		return NULL;
	return "the digest must be sha256: and 64 lower-case hexadecimal digits";
}

static const char *tag_fault(const char *t)
{
	size_t n = strlen(t);

	if (n == 0)
		return "the tag is empty";
	if (n > TAG_MAX_BYTES)
		return "the tag is longer than 128 bytes";
	if (*t == '.' || *t == '-' || t[strspn(t, LOWER UPPER DIGITS "_.-")])
		return "the tag may hold letters, digits, '_', '.' and '-' only";
	return NULL;
}

static const char *registry_fault(char *host)
{
	char *port = strrchr(host, ':');
	uint64_t v;

	if (*host == '[') {
		char *end = strchr(host, ']');

		if (!end || end == host + 1 ||
		    strspn(host + 1, DIGITS "abcdefABCDEF:.") != (size_t)(end - host - 1))
			return "the registry address in brackets is malformed";
		if (end[1] && end[1] != ':')
			return "the registry address in brackets is malformed";
		port = end[1] ? end + 1 : NULL;
		if (port && parse_u64(port + 1, 1, UINT16_MAX, &v) < 0)
			return "the registry's port is not a number from 1 to 65535";
		return NULL;
	}
	if (port) {
		*port = '\0';
		if (parse_u64(port + 1, 1, UINT16_MAX, &v) < 0)
			return "the registry's port is not a number from 1 to 65535";
	}
	for (char *label = host; label;
	     label = strchr(label, '.') ? strchr(label, '.') + 1 : NULL) {
		size_t n = strcspn(label, ".");

		if (n == 0 || *label == '-' || label[n - 1] == '-' ||
		    strspn(label, LOWER UPPER DIGITS "-") < n)
			return "the registry's host name is malformed";
	}
	return NULL;
}

/* Checks one path component: runs of lower-case letters and digits, joined by ".", "_", "__" or
 * dashes. */
static const char *component_fault(const char *c)
{
	if (!*c)
		return "a component of the name is empty";
	if (c[strcspn(c, UPPER)])
		return "repository names are lower case";
	while (*c) {
		size_t n = strspn(c, LOWER DIGITS), sep;

		if (n == 0)
			return "repository names hold a-z, 0-9 and single '.', '_', '-' between "
			       "them";
		c += n;
		if (!*c)
			return NULL;
		sep = *c == '-'              ? strspn(c, "-")
		      : starts_with(c, "__") ? 2
		      : strchr("._", *c)     ? 1
					     : 0;
		if (sep == 0 || !c[sep])
			return "repository names hold a-z, 0-9 and single '.', '_', '-' between "
			       "them";
		c += sep;
	}
	return NULL;
}

static const char *name_fault(char *name)
{
	char *slash = strchr(name, '/');
	const char *fault = NULL;

	if (strlen(name) > NAME_MAX_BYTES)
		return "the name is longer than 255 bytes";
	if (slash) {
		*slash = '\0';
		if (name[strcspn(name, ".:[" UPPER)] || strcmp(name, "localhost") == 0) {
			fault = registry_fault(name);
			name = slash + 1;
		} else {
			*slash = '/';
		}
	}
	while (!fault && name) {
		slash = strchr(name, '/');
		if (slash)
			*slash++ = '\0';
		fault = component_fault(name);
		name = slash;
	}
	return fault;
}

static int check_reference(const char *s, struct err *e)
{
	AUTO_FREE char *name = xstrdup(s);
	char *digest = strchr(name, '@'), *slash, *colon;
	const char *fault = NULL;

	if (strlen(s) > REFERENCE_MAX_BYTES)
		return bad_value(e, "IMAGE", "reference", s, "longer than %u bytes",
				 REFERENCE_MAX_BYTES);
	if (digest) {
		*digest++ = '\0';
		fault = digest_fault(digest);
	}
	slash = strrchr(name, '/');
	colon = strchr(slash ? slash : name, ':');
	if (!fault && colon) {
		*colon++ = '\0';
		fault = tag_fault(colon);
	}
	if (!fault)
		fault = name_fault(name);
	return fault ? bad_value(e, "IMAGE", "reference", s, "%s", fault) : 0;
}

static bool is_disk_image(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".qcow2") == 0 || strcmp(dot, ".raw") == 0 ||
		       strcmp(dot, ".vmdk") == 0);
}

static bool ends_in_cow(const char *s)
{
	size_t n = strlen(s);

	return n >= strlen(COW) && strcmp(s + n - strlen(COW), COW) == 0;
}

/* Returns S without the ending ",cow". The result is allocated. */
static char *without_cow(const char *s)
{
	return xstrndup(s, strlen(s) - (ends_in_cow(s) ? strlen(COW) : 0));
}

bool image_is_local(const char *s)
{
	AUTO_FREE char *path = without_cow(s);

	return path_is_host(path);
}

char *image_word(const struct spec_image *i)
{
	const char *path = i->reference ? i->reference : "host";
	bool in_place = spec_image_in_place(i);

	if (i->kind != IMAGE_DIR)
		return xstrdup(path);
	/* The slash marks the path as a directory, even if its name looks like a disk image or ends
	 * in ",cow". */
	return xasprintf("%s%s%s", path,
			 is_disk_image(path) || (in_place && ends_in_cow(path)) ? "/" : "",
			 in_place ? "" : COW);
}

static int parse_path(const char *s, bool cow, enum spec_image_kind *ret_kind, char **ret_path,
		      struct err *e)
{
	AUTO_FREE char *path = NULL;

	*ret_kind = is_disk_image(s) ? IMAGE_DISK : IMAGE_DIR;
	if (cow && *ret_kind == IMAGE_DISK)
		return bad_value(e, "IMAGE", "disk image", s,
				 "'" COW "' goes with a directory only");
	if (path_absolute(s, &path, e) < 0)
		return -1;
	if (strcmp(path, "/") == 0)
		return err_set(e, ERR_INVALID,
			       "IMAGE: '/' would share the whole host: use the image 'host'");
	*ret_path = TAKE(path);
	return 0;
}

int parse_image(const char *s, struct spec_image *ret, struct err *e)
{
	enum spec_image_kind kind = strcmp(s, "host") == 0 ? IMAGE_HOST : IMAGE_OCI;
	AUTO_FREE char *path = without_cow(s);
	AUTO_FREE char *reference = NULL;
	bool cow = ends_in_cow(s);

	if (!*s)
		return err_set(e, ERR_INVALID, "IMAGE: the name is empty");
	if (path_is_host(path)) {
		if (parse_path(path, cow, &kind, &reference, e) < 0)
			return -1;
	} else if (cow) {
		return bad_value(e, "IMAGE", "reference", s,
				 "'" COW "' goes with a directory only");
	} else if (check_reference(s, e) < 0) {
		return -1;
	}
	free(ret->reference);
	free(ret->manifest_digest);
	ret->kind = kind;
	ret->cow = cow;
	ret->reference = reference ? TAKE(reference) : xstrdup(s);
	ret->manifest_digest = NULL;
	return 0;
}
