#include "cli/commands.h"

#include "cli/options.h"

#define SANDBOXES "Sandboxes"
#define IMAGES "Images"
#define STORAGE "Storage"
#define INSTALLATION "Installation"
#define OTHER "Other"

// clang-format off

/* --- making sandboxes and running commands ---------------------------------------------------- */

static const struct opt_set create_sets[] = { CREATION_SETS, { NULL, NULL } };
static const char *const create_conflicts[][2] = { CREATION_CONFLICTS, { NULL, NULL } };
static const char *const create_requires[][2] = { CREATION_REQUIRES, { NULL, NULL } };

static const struct opt run_opts[] = {
	FLAG('d', "detach", "Start the command in the background and print the name",
	     .more = "The sandbox stops when the command ends."),
	VALUE(0, "detach-keys", "KEYS", "Keys that leave a terminal session (default ctrl-])"),
	VALUE(0, "from-snapshot", "SNAPSHOT", "Start from a snapshot instead of an image",
	      .alias = "from-snap", NOT_YET),
	OPT_END
};
static const struct opt_set run_sets[] = {
	{ "Command", run_opts }, { "Command", tty_opts }, { "Command", command_opts },
	CREATION_SETS, { NULL, NULL }
};
static const char *const run_conflicts[][2] = {
	CREATION_CONFLICTS, { "tty", "no-tty" }, { "IMAGE", "from-snapshot" }, { NULL, NULL }
};

static const struct opt exec_opts[] = {
	LIST('e', "env", "K=V", "Set a variable for this command",
	     .more = "A bare K copies the value from your environment; it is an error if unset."),
	VALUE('w', "workdir", "DIR", "Working directory"),
	VALUE('u', "user", "USER[:GROUP]", "User, by name or number"),
	FLAG(0, "stream", "Pipes as they are, never a terminal; refuses one on stdin"),
	VALUE(0, "detach-keys", "KEYS", "Keys that leave a terminal session (default ctrl-])"),
	OPT_END
};
static const struct opt_set exec_sets[] = {
	{ NULL, exec_opts }, { NULL, tty_opts }, { NULL, command_opts }, { NULL, quiet_opts },
	{ NULL, NULL }
};
static const char *const exec_conflicts[][2] = {
	{ "tty", "no-tty" }, { "stream", "tty" }, { NULL, NULL }
};

static const struct opt attach_opts[] = {
	VALUE(0, "detach-keys", "KEYS", "Keys that leave again (default ctrl-])"),
	OPT_END
};
static const struct opt_set attach_sets[] = { { NULL, attach_opts }, { NULL, NULL } };

/* --- their life ------------------------------------------------------------------------------- */

static const struct opt stop_opts[] = {
	FLAG('f', "force", "Kill at once"),
	NUMBER('t', "timeout", "SECONDS", 0, UINT32_MAX, "Wait this long before killing; 0 kills at once"),
	OPT_END
};
static const struct opt remove_opts[] = {
	FLAG('f', "force", "Kill running sandboxes first"),
	OPT_END
};
static const struct opt ping_opts[] = {
	FLAG(0, "touch", "Also reset the idle clock"),
	OPT_END
};
static const struct opt_set selection_sets[] = {
	{ NULL, label_opts }, { NULL, quiet_opts }, { NULL, NULL }
};
static const struct opt_set stop_sets[] = {
	{ NULL, stop_opts }, { NULL, label_opts }, { NULL, quiet_opts }, { NULL, NULL }
};
static const struct opt_set remove_sets[] = {
	{ NULL, remove_opts }, { NULL, label_opts }, { NULL, quiet_opts }, { NULL, NULL }
};
static const struct opt_set ping_sets[] = {
	{ NULL, ping_opts }, { NULL, label_opts }, { NULL, quiet_opts }, { NULL, NULL }
};

/* --- looking at them -------------------------------------------------------------------------- */

static const struct opt list_opts[] = {
	FLAG(0, "running", "Running ones"),
	FLAG(0, "stopped", "Stopped ones; both flags show the union"),
	OPT_END
};
static const struct opt status_opts[] = {
	FLAG('a', "all", "Stopped ones too"),
	OPT_END
};
static const struct opt_set list_sets[] = {
	{ NULL, list_opts }, { NULL, label_opts }, { NULL, format_opts }, { NULL, names_only_opts },
	{ NULL, NULL }
};
static const struct opt_set status_sets[] = {
	{ NULL, status_opts }, { NULL, label_opts }, { NULL, format_opts }, { NULL, names_only_opts },
	{ NULL, NULL }
};
static const char *const status_conflicts[][2] = {
	{ "NAME", "all" }, { "NAME", "label" }, { NULL, NULL }
};
static const struct opt_set format_sets[] = { { NULL, format_opts }, { NULL, NULL } };

/* --- this installation ------------------------------------------------------------------------ */

static const struct opt doctor_opts[] = {
	FLAG(0, "fix", "Repair what can be repaired"),
	FLAG('y', "yes", "Do not ask before repairing"),
	OPT_END
};
static const struct opt_set doctor_sets[] = { { NULL, doctor_opts }, { NULL, NULL } };

static const struct command commands[] = {
	{
		.name = "create", .group = SANDBOXES, .run = cmd_create,
		.summary = "Make and start a sandbox in the background",
		.description =
			"Makes a sandbox from IMAGE and returns as soon as it answers commands; runs nothing "
			"in it. Without --name the generated name is printed on stdout.\n\n"
			"IMAGE is 'host' for the programs of this machine, a directory (./rootfs), a disk "
			"image, or a reference of a registry.",
		.usage = "[IMAGE]", .sets = create_sets, .max_args = 1, .words = WORD_IMAGE,
		.conflicts = create_conflicts, .requires = create_requires,
	},
	{
		.name = "run", .group = SANDBOXES, .run = cmd_run,
		.summary = "Run a command in a new or named sandbox",
		.description =
			"Makes a sandbox, runs COMMAND in it and returns its status. Without --name the "
			"sandbox disappears afterwards; with the name of an existing one, that one is used "
			"and creation options are ignored.\n\n"
			"Without COMMAND the image's own is run, or a shell when stdin is a terminal.",
		.usage = "[IMAGE] [-- COMMAND…]", .sets = run_sets, .max_args = 1, .takes_rest = true,
		.words = WORD_IMAGE, .conflicts = run_conflicts, .requires = create_requires,
	},
	{
		.name = "exec", .group = SANDBOXES, .run = cmd_exec,
		.summary = "Run a command in an existing sandbox",
		.description =
			"Runs COMMAND directly, without a shell, and returns its status: 126 when it cannot "
			"be executed, 127 when it is not found, 128+N when signal N killed it, 124 when "
			"--timeout did. A stopped sandbox is started for it and stopped again.\n\n"
			"Everything COMMAND started is killed when this client dies.",
		.usage = "NAME [-- COMMAND…]", .sets = exec_sets, .min_args = 1, .max_args = 1,
		.takes_rest = true, .words = WORD_SANDBOX, .conflicts = exec_conflicts,
	},
	{
		.name = "attach", .group = SANDBOXES, .run = cmd_attach,
		.summary = "Return to a terminal session that was left",
		.description =
			"Without ID the only detached session, or the latest of several. What it printed "
			"meanwhile is shown first, as far as it was kept.",
		.usage = "NAME [ID]", .sets = attach_sets, .min_args = 1, .max_args = 2,
		.words = WORD_SANDBOX,
	},
	{
		.name = "start", .group = SANDBOXES, .run = cmd_start,
		.summary = "Start stopped sandboxes",
		.usage = "[NAME…]", .sets = selection_sets, .min_args = 1, .max_args = ARGS_MANY,
		.instead = "label", .words = WORD_SANDBOX,
	},
	{
		.name = "stop", .group = SANDBOXES, .run = cmd_stop,
		.summary = "Stop running sandboxes",
		.description =
			"Processes get SIGTERM, and SIGKILL two seconds later unless --timeout says "
			"otherwise. Stopping a stopped sandbox is success.",
		.usage = "[NAME…]", .sets = stop_sets, .min_args = 1, .max_args = ARGS_MANY,
		.instead = "label", .words = WORD_SANDBOX,
	},
	{
		.name = "restart", .group = SANDBOXES, .run = cmd_restart,
		.summary = "Stop sandboxes and start them again",
		.usage = "[NAME…]", .sets = stop_sets, .min_args = 1, .max_args = ARGS_MANY,
		.instead = "label", .words = WORD_SANDBOX,
	},
	{
		.name = "remove", .aliases = "rm", .group = SANDBOXES, .run = cmd_remove,
		.summary = "Delete sandboxes",
		.description =
			"Deletes the record, the private file system and the logs. Images, volumes and "
			"mounted host paths stay.",
		.usage = "[NAME…]", .sets = remove_sets, .min_args = 1, .max_args = ARGS_MANY,
		.instead = "label", .words = WORD_SANDBOX,
	},
	{
		.name = "list", .aliases = "ls", .group = SANDBOXES, .run = cmd_list,
		.summary = "List sandboxes, newest first",
		.sets = list_sets,
	},
	{
		.name = "status", .aliases = "ps", .group = SANDBOXES, .run = cmd_status,
		.summary = "Show what runs, with resources and ports",
		.usage = "[NAME]", .sets = status_sets, .max_args = 1, .words = WORD_SANDBOX,
		.conflicts = status_conflicts,
	},
	{
		.name = "inspect", .group = SANDBOXES, .run = cmd_inspect,
		.summary = "Show everything about one sandbox",
		.usage = "NAME", .sets = format_sets, .min_args = 1, .max_args = 1, .words = WORD_SANDBOX,
	},
	{
		.name = "ping", .group = SANDBOXES, .run = cmd_ping,
		.summary = "Check that running sandboxes answer",
		.usage = "[NAME…]", .sets = ping_sets, .min_args = 1, .max_args = ARGS_MANY,
		.instead = "label", .words = WORD_SANDBOX,
	},
	{
		.name = "touch", .group = SANDBOXES, .run = cmd_touch,
		.summary = "Reset the idle clock of sandboxes",
		.usage = "[NAME…]", .sets = selection_sets, .min_args = 1, .max_args = ARGS_MANY,
		.instead = "label", .words = WORD_SANDBOX,
	},
	{
		.name = "doctor", .group = INSTALLATION, .run = cmd_doctor,
		.summary = "Check whether sandboxes can run on this machine",
		.description = "Exit status 0 when they can, 1 when not. All text goes to stderr.",
		.sets = doctor_sets,
	},
	{
		.name = "version", .group = OTHER, .run = cmd_version,
		.summary = "Print the version",
	},
	{
		.name = "help", .group = OTHER, .run = cmd_help,
		.summary = "Print help about a command",
		.usage = "[COMMAND…]", .max_args = 2, .words = WORD_COMMAND,
	},
	{ .name = NULL },
};

static const struct opt root_opts[] = {
	FLAG('V', "version", "Print the version and exit"),
	OPT_END
};
static const struct opt_set root_sets[] = { { NULL, root_opts }, { NULL, NULL } };

const struct command cordon_root = {
	.name = "cordon",
	.summary = "Run untrusted commands in sandboxes",
	.usage = "COMMAND",
	.sets = root_sets,
	.sub = commands,
};
// clang-format on

int cmd_version(const struct args *a)
{
	return args_version(a);
}
