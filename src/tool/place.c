#include "tool/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "files/path.h"
#include "service/resolution.h"
#include "tool/skills.h"

/* A mount: a directory of this machine, and its path in the sandbox. */
struct mounted {
	const char *host_path, *at;
	enum box_mode mode;
	bool skill;
};

/* Returns the mount that PATH lies in. Of nested mounts, returns the innermost. */
static struct mounted find_mount(const struct box_spec *s, const char *path)
{
	struct mounted best = { s->host_path, BOX_DEFAULT_PLACE, s->host_path_mode, false };

	for (size_t i = 0; i < s->extra_mounts.n; i++) {
		const struct box_mount *m = &s->extra_mounts.item[i];

		if (m->mode != BOX_MODE_NONE && box_path_inside(path, m->mount_path) &&
		    strlen(m->mount_path) > strlen(best.at))
			best = (struct mounted){ m->host_path, m->mount_path, m->mode, true };
	}
	return best;
}

int place_escapes(struct file_call *c, struct str path, struct fault *f)
{
	c->hint = "Use a path below " BOX_DEFAULT_PLACE " without '..' and symbolic links.";
	return fault_about(f, FAULT_VALIDATION, "Path escapes the workspace boundary: ", path, "");
}

/* Turns the model's path into the path in the sandbox. */
static int read_path(struct file_call *c, struct str path, char **ret, struct fault *f)
{
	AUTO_BUF below = BUF_INIT(PATH_MAX_BYTES);
	int r = path_from_top(BOX_DEFAULT_PLACE, path, &below);

	if (r == -EXDEV)
		return place_escapes(c, path, f);
	if (r == -ENAMETOOLONG)
		return fault_set(f, FAULT_VALIDATION, "path must be at most %u bytes long",
				 PATH_MAX_BYTES);
	if (r < 0) {
		c->hint = "Only exec can use files outside of " BOX_DEFAULT_PLACE ".";
		return fault_set(f, FAULT_VALIDATION, "Path must be under " BOX_DEFAULT_PLACE ".");
	}
	*ret = xasprintf(BOX_DEFAULT_PLACE "%s%s", below.n ? "/" : "", buf_str(&below));
	return 0;
}

/* Opens HOST_PATH, a path without links. Follows no link, because a component may have become a
 * link meanwhile. Returns a descriptor or -errno. */
static int open_top(const char *host_path)
{
	AUTO_FD root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return -errno;
	while (*host_path == '/')
		host_path++;
	return beneath_open_unlinked(root, host_path, O_RDONLY | O_DIRECTORY);
}

static int no_skill(struct file_call *c, struct str name, struct fault *f)
{
	AUTO_BUF behind = BUF_INIT(FAULT_TEXT_MAX);
	struct skills_list all;

	skills_list(c->spec, &all);
	buf_add_str(&behind, "\" is not available at this path. Visible skills: ");
	for (size_t i = 0; i < all.n; i++)
		buf_addf(&behind, "%s%s", i ? ", " : "", all.name[i]);
	buf_add_str(&behind, all.n ? "." : "none.");
	skills_list_done(&all);
	c->hint = "Read /workspace/.skills to see the skills.";
	return fault_about(f, FAULT_VALIDATION, "Skill \"", name, buf_str(&behind));
}

int place_find(struct file_call *c, struct str path, struct place *ret, struct fault *f)
{
	AUTO_FREE char *real = NULL;
	struct mounted m;
	struct str skill;
	const char *rest;

	*ret = (struct place){ .top = -1 };
	if (read_path(c, path, &ret->shown, f) < 0)
		return -1;
	ret->all_skills = skills_is_top(ret->shown);
	if (ret->all_skills)
		return 0;
	skill = skills_name(ret->shown);
	if (skill.n && !skills_is_visible(c->spec, skill))
		return no_skill(c, skill, f);
	m = find_mount(c->spec, ret->shown);
	ret->read_only = m.host_path && m.mode == BOX_MODE_RO;
	if (m.host_path && m.mode != BOX_MODE_NONE)
		real = resolve_own(c->config, m.host_path, m.skill);
	if (!real) {
		ret->in_session = true;
		return 0;
	}
	ret->top = open_top(real);
	if (ret->top < 0)
		return fault_set(f, FAULT_BOX, "The workspace cannot be opened: %s.",
				 strerror(-ret->top));
	rest = ret->shown + strlen(m.at);
	ret->path = xstrdup(*rest == '/' ? rest + 1 : rest);
	return 0;
}

int place_no_tree(struct file_call *c, const struct place *p, struct fault *f)
{
	c->hint = "Read /workspace to see which directories exist.";
	return fault_about(f, FAULT_VALIDATION, "Path not found: ", str_of(p->shown), "");
}

int place_open_tree(struct file_call *c, const struct place *p, mode_t *ret_kind, struct fault *f)
{
	int fd = beneath_open_kind(p->top, p->path, ret_kind);

	if (fd == -ENOENT || fd == -ENOTDIR)
		return place_no_tree(c, p, f);
	return fd < 0 ? place_error(c, p, fd, f) : fd;
}

void place_done(struct place *p)
{
	fd_closep(&p->top);
	free(p->path);
	free(p->shown);
	*p = (struct place){ .top = -1 };
}

int place_check_writable(struct file_call *c, const struct place *p, struct fault *f)
{
	struct str skill = skills_name(p->shown);

	if (p->all_skills)
		return place_error(c, p, -EISDIR, f);
	if (skill.n && !skills_is_activated(c->query, skill)) {
		c->hint = "Activate the skill, or write below /workspace but outside of .skills.";
		return fault_about(f, FAULT_PERMISSION, "Skill \"", skill,
				   "\" must be activated before its files can be changed.");
	}
	if (!p->read_only)
		return 0;
	c->hint = "This session can only read these files.";
	return fault_about(f, FAULT_PERMISSION, "The workspace is read-only: ", str_of(p->shown),
			   "");
}

int place_error(struct file_call *c, const struct place *p, int error, struct fault *f)
{
	const struct str shown = str_of(p->shown);

	switch (-error) {
	case ELOOP:
	case EXDEV:
		return place_escapes(c, shown, f);
	case ENOENT:
	case ENOTDIR:
		c->hint = "Use the tool glob to find the file.";
		return fault_about(f, FAULT_VALIDATION, "File not found: ", shown, "");
	case EISDIR:
		c->hint = "Name a file in this directory.";
		return fault_about(f, FAULT_VALIDATION, "Path is a directory: ", shown, "");
	case EINVAL:
		c->hint = "Only regular files and directories can be used.";
		return fault_about(f, FAULT_VALIDATION, "Not a regular file: ", shown, "");
	case EACCES:
	case EPERM:
		c->hint = "Try the tool exec: commands may have other rights.";
		return fault_about(f, FAULT_PERMISSION, "Permission denied: ", shown, "");
	case ESTALE:
		c->hint = "Read the file again and repeat the call.";
		return fault_about(f, FAULT_BOX, "File changed while it was being edited: ", shown,
				   "");
	default:
		c->hint = NULL;
		return fault_set(f, FAULT_BOX, "%s: %s", p->shown, strerror(-error));
	}
}
