/*
 * Parses SOURCE:GUEST[:OPTIONS] and the value of --tmpfs.
 *
 * The source ends at the first ":/", so host paths may hold colons. The guest path ends at the next
 * ':'. One table says which options each kind of mount may have. A mount is added to the spec only
 * after all of it was parsed, and only if no other mount has the same target.
 */
#include "spec/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/bad.h"
#include "spec/list.h"

/* the largest user or group id. UINT32_MAX is no id, because (uid_t)-1 means "no change" to the
 * kernel */
#define ID_MAX (UINT32_MAX - 1)

enum mount_class { HOST = 1 << 0, NAMED = 1 << 1, DISK = 1 << 2, TMPFS = 1 << 3 };

enum mount_opt {
	OPT_RO,
	OPT_RW,
	OPT_NOEXEC,
	OPT_NOSUID,
	OPT_NODEV,
	OPT_QUOTA,
	OPT_UID,
	OPT_GID,
	OPT_STAT_VIRT,
	OPT_HOST_PERMS,
	OPT_FOLLOW,
	OPT_KIND,
	OPT_SIZE,
	OPT_FORMAT,
	OPT_FSTYPE,
	OPT_COUNT
};
#define BIT(o) (1u << (o))
/* options that concern the files of a directory; a disk volume accepts none of these options */
#define DIR_OPTS                                                                                   \
	(BIT(OPT_QUOTA) | BIT(OPT_UID) | BIT(OPT_GID) | BIT(OPT_STAT_VIRT) | BIT(OPT_HOST_PERMS) | \
	 BIT(OPT_FOLLOW))

static const struct {
	const char *word; /* ends in '=' if the option takes a value */
	unsigned classes;
} opts[] = {
	// clang-format off
	[OPT_RO]         = { "ro",                   HOST | NAMED | DISK | TMPFS },
	[OPT_RW]         = { "rw",                   HOST | NAMED | DISK | TMPFS },
	[OPT_NOEXEC]     = { "noexec",               HOST | NAMED | DISK | TMPFS },
	[OPT_NOSUID]     = { "nosuid",               HOST | NAMED | DISK | TMPFS },
	[OPT_NODEV]      = { "nodev",                HOST | NAMED | DISK | TMPFS },
	[OPT_QUOTA]      = { "quota=",               HOST | NAMED },
	[OPT_UID]        = { "uid=",                 HOST | NAMED },
	[OPT_GID]        = { "gid=",                 HOST | NAMED },
	[OPT_STAT_VIRT]  = { "stat-virt=",           HOST | NAMED },
	[OPT_HOST_PERMS] = { "host-perms=",          HOST | NAMED },
	[OPT_FOLLOW]     = { "follow-root-symlinks", HOST | NAMED },
	[OPT_KIND]       = { "kind=",                NAMED },
	[OPT_SIZE]       = { "size=",                NAMED | TMPFS },
	[OPT_FORMAT]     = { "format=",              DISK },
	[OPT_FSTYPE]     = { "fstype=",              DISK },
	// clang-format on
};
_Static_assert(ARRAY_SIZE(opts) == OPT_COUNT, "an option has no row");

static const char *const flag_names[] = {
	[MOUNT_FLAG_VOLUME] = "--volume",     [MOUNT_FLAG_DIR] = "--mount-dir",
	[MOUNT_FLAG_FILE] = "--mount-file",   [MOUNT_FLAG_DISK] = "--mount-disk",
	[MOUNT_FLAG_NAMED] = "--mount-named",
};

struct mount_parse {
	const char *flag, *noun, *whole; /* these three are for messages */
	enum mount_class class;
	unsigned seen; /* the options so far, each as BIT(enum mount_opt) */
	struct spec_mount m;
};

#define BAD(p, e, ...) bad_value(e, (p)->flag, (p)->noun, (p)->whole, __VA_ARGS__)

bool fstype_valid(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return n > 0 && n <= 16 && !s[n] && *s != '-';
}

static int parse_id(struct mount_parse *p, const char *key, const char *value, uint32_t *ret,
		    struct err *e)
{
	uint64_t v;

	if (parse_u64(value, 0, ID_MAX, &v) < 0)
		return BAD(p, e, "%s= needs a number from 0 to %u", key, ID_MAX);
	*ret = (uint32_t)v;
	return 0;
}

/* Returns the index of VALUE in a NULL-terminated list, or -1 with a message. */
static int choose(struct mount_parse *p, const char *key, const char *value,
		  const char *const *choices, struct err *e)
{
	for (int i = 0; choices[i]; i++)
		if (strcmp(choices[i], value) == 0)
			return i;
	return BAD(p, e, "unknown value '%.32s' of %s=", value, key);
}

static int apply_dir_option(struct mount_parse *p, enum mount_opt o, const char *value,
			    struct err *e)
{
	static const char *const stat_virts[] = { "strict", "relaxed", "off", NULL };
	static const char *const perms[] = { "private", "mirror", NULL };
	int i;

	switch (o) {
	case OPT_QUOTA:
		return parse_size_mib(p->flag, value, &p->m.quota_mib, e);
	case OPT_UID:
		p->m.has_owner = true;
		return parse_id(p, "uid", value, &p->m.uid, e);
	case OPT_GID:
		p->m.has_owner = true;
		return parse_id(p, "gid", value, &p->m.gid, e);
	case OPT_STAT_VIRT:
		if ((i = choose(p, "stat-virt", value, stat_virts, e)) < 0)
			return -1;
		p->m.stat_virt = (enum spec_stat_virt)i;
		p->m.stat_virt_set = true;
		return 0;
	case OPT_HOST_PERMS:
		if ((i = choose(p, "host-perms", value, perms, e)) < 0)
			return -1;
		p->m.host_perms_set = true;
		p->m.host_perms_mirror = i == 1;
		return 0;
	default:
		p->m.follow_root_symlinks = true;
		return 0;
	}
}

static int apply_disk_option(struct mount_parse *p, enum mount_opt o, const char *value,
			     struct err *e)
{
	static const char *const kinds[] = { "dir", "disk", NULL };
	static const char *const formats[] = { "raw", "qcow2", "vmdk", NULL };
	int i;

	switch (o) {
	case OPT_KIND:
		if ((i = choose(p, "kind", value, kinds, e)) < 0)
			return -1;
		p->m.kind_disk = i == 1;
		p->m.kind_dir = i == 0;
		return 0;
	case OPT_SIZE:
		return parse_size_mib(p->flag, value, &p->m.size_mib, e);
	case OPT_FORMAT:
		if (choose(p, "format", value, formats, e) < 0)
			return -1;
		free(p->m.format);
		p->m.format = xstrdup(value);
		return 0;
	default:
		if (!fstype_valid(value))
			return BAD(p, e, "'%.32s' is not a file system name such as ext4", value);
		p->m.fstype = xstrdup(value);
		return 0;
	}
}

static int apply_option(struct mount_parse *p, enum mount_opt o, const char *value, struct err *e)
{
	switch (o) {
	case OPT_RO:
		p->m.readonly = true;
		return 0;
	case OPT_RW:
		return 0;
	case OPT_NOEXEC:
		p->m.noexec = true;
		return 0;
	case OPT_NOSUID:
		p->m.nosuid = true;
		return 0;
	case OPT_NODEV:
		p->m.nodev = true;
		return 0;
	default:
		return BIT(o) & DIR_OPTS ? apply_dir_option(p, o, value, e)
					 : apply_disk_option(p, o, value, e);
	}
}

/* Handles options that other tools know. Ignores harmless options, and refuses options that ask for
 * rights which a sandbox does not get. */
static int foreign_option(struct mount_parse *p, const char *word, struct err *e)
{
	static const char *const ignored[] = { "z", "Z", "cached", "delegated", "consistent" };
	static const char *const refused[] = { "exec", "suid", "dev" };

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (strcmp(word, ignored[i]) == 0)
			return 0;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (strcmp(word, refused[i]) == 0)
			return BAD(p, e, "'%s' cannot be asked for; leave 'no%s' out instead", word,
				   word);
	if (!*word)
		return BAD(p, e, "an option is empty");
	return BAD(p, e, "unknown option '%.64s'", word);
}

static int one_option(struct mount_parse *p, const char *word, struct err *e)
{
	for (unsigned o = 0; o < OPT_COUNT; o++) {
		size_t n = strlen(opts[o].word);
		bool takes_value = opts[o].word[n - 1] == '=';

		if (takes_value ? strncmp(word, opts[o].word, n) != 0
				: strcmp(word, opts[o].word) != 0)
			continue;
		if (!(opts[o].classes & p->class))
			return BAD(p, e, "option '%.*s' does not go with this kind of mount",
				   (int)(takes_value ? n - 1 : n), opts[o].word);
		if (p->seen & BIT(o))
			return BAD(p, e, "option '%.*s' is given twice",
				   (int)(takes_value ? n - 1 : n), opts[o].word);
		p->seen |= BIT(o);
		return apply_option(p, (enum mount_opt)o, word + n, e);
	}
	return foreign_option(p, word, e);
}

/* Applies all options of the list OPTIONS. Changes OPTIONS. */
static int all_options(struct mount_parse *p, char *options, struct err *e)
{
	char *word;

	while ((word = strsep(&options, ",")))
		if (one_option(p, word, e) < 0)
			return -1;
	if ((p->seen & BIT(OPT_RO)) && (p->seen & BIT(OPT_RW)))
		return BAD(p, e, "'ro' and 'rw' exclude each other");
	if (!(p->seen & BIT(OPT_UID)) != !(p->seen & BIT(OPT_GID)))
		return BAD(p, e, "uid= and gid= go together");
	if (p->class != NAMED)
		return 0;
	if (p->m.kind_disk && (p->seen & DIR_OPTS))
		return BAD(p, e,
			   "quota=, uid=, gid=, stat-virt=, host-perms= and "
			   "follow-root-symlinks do not go with kind=disk");
	if (p->m.kind_disk != (p->m.size_mib != 0))
		return BAD(p, e, "kind=disk and size= go together");
	return 0;
}

static int take_guest(struct mount_parse *p, const char *guest, struct err *e)
{
	const char *reserved;

	if (!*guest)
		return BAD(p, e, "the guest path is empty");
	if (*guest != '/')
		return BAD(p, e, "the guest path '%.64s' must be absolute", guest);
	if (strlen(guest) > SPEC_GUEST_PATH_MAX_BYTES)
		return BAD(p, e, "the guest path is longer than %u bytes",
			   SPEC_GUEST_PATH_MAX_BYTES);
	p->m.guest = path_normalise(guest);
	if (strcmp(p->m.guest, "/") == 0)
		return BAD(p, e, "the guest path must not be '/'");
	reserved = path_reserved(p->m.guest);
	if (reserved)
		return BAD(p, e, "'%s' is the sandbox's own, nothing can be mounted there",
			   reserved);
	return 0;
}

static int take_source(struct mount_parse *p, enum mount_flag flag, const char *source,
		       struct err *e)
{
	bool is_path = flag == MOUNT_FLAG_VOLUME ? path_is_host(source) : flag != MOUNT_FLAG_NAMED;

	if (!*source)
		return BAD(p, e, "the source is empty");
	p->class = !is_path ? NAMED : flag == MOUNT_FLAG_DISK ? DISK : HOST;
	p->m.want = flag == MOUNT_FLAG_DIR    ? WANT_DIR
		    : flag == MOUNT_FLAG_FILE ? WANT_FILE
					      : WANT_ANY;
	if (is_path) {
		p->m.kind = p->class == DISK ? MOUNT_DISK : MOUNT_BIND;
		return path_absolute(source, &p->m.source, e);
	}
	p->m.kind = MOUNT_NAMED;
	if (strchr(source, '/'))
		return BAD(p, e,
			   "'%.64s' is not a volume name; host paths start with '/', './' or '../'",
			   source);
	p->m.source = xstrdup(source);
	if (spec_check_name("volume", source, e) < 0)
		return err_wrap(e, "%s", p->flag);
	return 0;
}

/* Moves the finished mount into *S. Fails if another mount has the same target, or if *S has too
 * many mounts. */
static int commit(struct spec *s, struct mount_parse *p, struct err *e)
{
	for (size_t i = 0; i < s->n_mounts; i++)
		if (strcmp(s->mount[i].guest, p->m.guest) == 0)
			return BAD(p, e, "guest path '%.128s' is mounted twice", p->m.guest);
	if (s->n_mounts >= SPEC_MOUNTS_MAX)
		return err_set(e, ERR_LIMIT, "%s: more than %u mounts", p->flag, SPEC_MOUNTS_MAX);
	p->m.origin = bad_beginning(p->flag, "mount", p->whole);
	*LIST_ADD(s->mount, s->n_mounts) = p->m;
	p->m = (struct spec_mount){ 0 };
	return 0;
}

bool spec_mount_is_shared(const struct spec_mount *m)
{
	return m->kind == MOUNT_BIND || (m->kind == MOUNT_NAMED && !m->kind_disk);
}

size_t spec_mount_above(const struct spec *s, size_t i)
{
	size_t best = SIZE_MAX, most = 0;

	for (size_t k = 0; k < s->n_mounts; k++) {
		size_t n = strlen(s->mount[k].guest);

		if (k != i && n > most && path_below(s->mount[k].guest, s->mount[i].guest)) {
			best = k;
			most = n;
		}
	}
	return best;
}

int spec_take_mount(struct spec *s, const char *flag, const char *guest, struct spec_mount *m,
		    struct err *e)
{
	struct mount_parse p = { .flag = flag, .noun = "target", .whole = guest, .m = *m };
	int r;

	*m = (struct spec_mount){ 0 };
	r = take_guest(&p, guest, e);
	if (r == 0)
		r = commit(s, &p, e);
	spec_mount_done(&p.m);
	return r;
}

static int parse_mount(struct mount_parse *p, enum mount_flag flag, char *text, struct err *e)
{
	char *colon = strstr(text, ":/"), *guest, *options;

	if (!colon && !strchr(text, ':'))
		return BAD(p, e, "expected SOURCE:GUEST[:OPTIONS]");
	if (!colon)
		colon = strchr(text, ':');
	*colon = '\0';
	guest = colon + 1;
	options = strchr(guest, ':');
	if (options)
		*options++ = '\0';
	if (take_source(p, flag, text, e) < 0)
		return -1;
	/* a guest path may hold commas only if options follow, as in "/a:/b,c:rw" */
	if (!options && *guest == '/' && strchr(guest, ',')) {
		size_t n = strcspn(guest, ",");

		return BAD(p, e, "options follow a second colon: '%.64s:%.*s:%.64s'", text,
			   n > 64 ? 64 : (int)n, guest, guest + n + 1);
	}
	if (take_guest(p, guest, e) < 0)
		return -1;
	return options ? all_options(p, options, e) : 0;
}

const char *disk_format(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && strcmp(dot, ".qcow2") == 0  ? "qcow2"
	       : dot && strcmp(dot, ".vmdk") == 0 ? "vmdk"
						  : "raw";
}

int spec_add_mount(struct spec *s, enum mount_flag flag, const char *value, struct err *e)
{
	AUTO_FREE char *text = xstrdup(value);
	struct mount_parse p = { .flag = flag_names[flag], .noun = "mount", .whole = value };
	int r = parse_mount(&p, flag, text, e);

	if (r == 0) {
		if (p.m.kind == MOUNT_DISK && !p.m.format)
			p.m.format = xstrdup(disk_format(p.m.source));
		r = commit(s, &p, e);
	}
	spec_mount_done(&p.m);
	return r;
}

/* Returns true if S has '=' or ',' or is the name of an option. Any other S is a size. */
static bool looks_like_options(const char *s)
{
	if (strpbrk(s, ",="))
		return true;
	for (unsigned o = 0; o < OPT_COUNT; o++)
		if (strcmp(s, opts[o].word) == 0)
			return true;
	return false;
}

static int parse_tmpfs(struct mount_parse *p, char *text, struct err *e)
{
	char *path = strsep(&text, ":"), *second = strsep(&text, ":");

	p->m.kind = MOUNT_TMPFS;
	if (!second && strchr(path, ',')) {
		size_t n = strcspn(path, ",");

		return BAD(p, e, "options follow a colon: '%.*s:%.64s'", n > 64 ? 64 : (int)n, path,
			   path + n + 1);
	}
	if (take_guest(p, path, e) < 0)
		return -1;
	if (second && looks_like_options(second)) {
		if (text)
			return BAD(p, e, "nothing may follow the options");
		return all_options(p, second, e);
	}
	if (second) {
		p->seen |= BIT(OPT_SIZE);
		if (parse_size_mib(p->flag, second, &p->m.size_mib, e) < 0)
			return -1;
	}
	return text ? all_options(p, text, e) : 0;
}

int spec_add_tmpfs(struct spec *s, const char *value, struct err *e)
{
	AUTO_FREE char *text = xstrdup(value);
	struct mount_parse p = {
		.flag = "--tmpfs", .noun = "tmpfs", .whole = value, .class = TMPFS
	};
	int r = parse_tmpfs(&p, text, e);

	if (r == 0)
		r = commit(s, &p, e);
	spec_mount_done(&p.m);
	return r;
}
