#include "cli/commands.h"

#include "cli/options.h"
#include "client/project.h"

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
	     .more = "The sandbox stops when the command ends. With --tty, attach finds its terminal."),
	VALUE(0, "detach-keys", "KEYS", "Keys that leave a terminal session (default ctrl-])"),
	VALUE(0, "from-snapshot", "SNAPSHOT", "Start from a snapshot instead of an image",
	      .alias = "from-snap", NOT_YET),
	FLAG(0, "open-shell", "Run a shell, as 'shell' without a name does", .marks = OPT_HIDDEN),
	OPT_END
};
static const struct opt_set run_sets[] = {
	{ "Command", run_opts }, { "Command", tty_opts }, { "Command", command_opts },
	CREATION_SETS, { NULL, NULL }
};
static const char *const run_conflicts[][2] = {
	CREATION_CONFLICTS, { "tty", "no-tty" }, { "IMAGE", "from-snapshot" }, { NULL, NULL }
};

static const struct opt session_opts[] = {
	LIST('e', "env", "K=V", "Set a variable for this command",
	     .more = "A bare K copies the value from your environment; an unset variable is an error."),
	ENV_FILE,
	VALUE('w', "workdir", "DIR", "Working directory"),
	VALUE('u', "user", "USER[:GROUP]", "User, by name or number"),
	VALUE(0, "detach-keys", "KEYS", "Keys that leave a terminal session (default ctrl-])"),
	OPT_END
};
static const struct opt exec_opts[] = {
	FLAG(0, "stream", "Use plain pipes; a terminal on stdin is an error"),
	FLAG('d', "detach", "Start the command in the background and print its number",
	     .more = "The command goes on when this program ends. ps, attach, logs --id and stop --id find it "
		     "by its number. Its input stays open and empty until somebody attaches. With --tty it "
		     "has a terminal."),
	OPT_END
};
static const struct opt_set exec_sets[] = {
	{ NULL, session_opts }, { NULL, exec_opts }, { NULL, tty_opts }, { NULL, command_opts },
	{ NULL, format_opts }, { NULL, quiet_opts }, { NULL, NULL }
};
static const struct opt_set shell_sets[] = {
	{ NULL, session_opts }, { NULL, tty_opts }, { NULL, command_opts }, { NULL, quiet_opts },
	{ NULL, NULL }
};
static const char *const shell_conflicts[][2] = { { "tty", "no-tty" }, { NULL, NULL } };
static const char *const exec_conflicts[][2] = {
	{ "tty", "no-tty" }, { "stream", "tty" }, { "detach", "stream" }, { NULL, NULL }
};
static const char *const exec_requires[][2] = { { "format", "detach" }, { NULL, NULL } };

static const struct opt attach_opts[] = {
	VALUE(0, "detach-keys", "KEYS", "Keys that leave the session (default ctrl-])"),
	OPT_END
};
static const struct opt_set attach_sets[] = { { NULL, attach_opts }, { NULL, NULL } };

/* --- starting, stopping and removing sandboxes ------------------------------------------------ */

static const struct opt stop_opts[] = {
	FLAG('f', "force", "Kill at once"),
	NUMBER('t', "timeout", "SECONDS", 0, UINT32_MAX, "Wait this long before killing; 0 kills at once"),
	OPT_END
};
static const struct opt remove_opts[] = {
	FLAG('f', "force", "Kill running sandboxes first"),
	OPT_END
};
static const struct opt all_opts[] = {
	FLAG('a', "all", "Choose all sandboxes"),
	OPT_END
};
static const char *const remove_conflicts[][2] = {
	{ "NAME", "all" }, { "label", "all" }, { NULL, NULL }
};
static const struct opt ping_opts[] = {
	FLAG(0, "touch", "Also reset the idle clock"),
	OPT_END
};
static const struct opt_set selection_sets[] = {
	{ NULL, label_opts }, { NULL, silent_opts }, { NULL, NULL }
};
static const struct opt stop_one_opts[] = {
	NUMBER(0, "id", "ID", 1, UINT32_MAX, "Stop only the command with this number, not the sandbox",
	       .more = "Everything that the command started ends, too."),
	OPT_END
};
static const struct opt_set stop_sets[] = {
	{ NULL, stop_opts }, { NULL, stop_one_opts }, { NULL, all_opts }, { NULL, label_opts },
	{ NULL, format_opts },
	{ NULL, quiet_opts }, { NULL, NULL }
};
static const char *const stop_conflicts[][2] = {
	{ "id", "label" }, { "id", "all" }, { "NAME", "all" }, { "label", "all" }, { NULL, NULL }
};
static const char *const stop_requires[][2] = { { "format", "id" }, { NULL, NULL } };
static const struct opt_set restart_sets[] = {
	{ NULL, stop_opts }, { NULL, label_opts }, { NULL, silent_opts }, { NULL, NULL }
};
static const struct opt_set remove_sets[] = {
	{ NULL, remove_opts }, { NULL, all_opts }, { NULL, label_opts }, { NULL, silent_opts },
	{ NULL, NULL }
};
static const struct opt_set ping_sets[] = {
	{ NULL, ping_opts }, { NULL, label_opts }, { NULL, silent_opts }, { NULL, NULL }
};

/* --- looking at sandboxes --------------------------------------------------------------------- */

static const struct opt list_opts[] = {
	FLAG(0, "running", "Show running sandboxes only"),
	FLAG(0, "stopped", "Show stopped sandboxes only; with --running show both"),
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
static const struct opt inspect_opts[] = {
	FLAG(0, "show-env", "Show the values of environment variables too"),
	OPT_END
};
static const struct opt_set inspect_sets[] = {
	{ NULL, inspect_opts }, { NULL, format_opts }, { NULL, NULL }
};

/* --- output and usage ------------------------------------------------------------------------- */

static const char *const source_choices[] = {
	"stdout", "stderr", "output", "system", "net", "all", NULL
};
static const char *const colour_choices[] = { "auto", "always", "never", NULL };
static const char *const sort_choices[] = { "name", "cpu", "mem", NULL };

static const struct opt logs_opts[] = {
	NUMBER(0, "tail", "N", 0, UINT32_MAX, "Only the last N records"),
	VALUE(0, "since", "TIME", "Only records since TIME: RFC 3339, or 10s, 5m, 2h, 1d ago"),
	VALUE(0, "until", "TIME", "Only records until TIME"),
	FLAG('f', "follow", "Wait for more until the sandbox stops"),
	LIST(0, "source", "SOURCE", "Only these streams", .choices = source_choices, .marks = OPT_COMMA,
	     .more = "The default is stdout, stderr and output; output holds what terminals and joined "
		     "streams print. net holds refused names and addresses. One value may hold several "
		     "streams, separated by commas."),
	NUMBER(0, "id", "ID", 1, UINT32_MAX, "Only what the command with this number printed",
	       .more = "The number is that of the sandbox's last start; each start begins with 1."),
	VALUE(0, "grep", "REGEX", "Only records that match, in PCRE2 syntax"),
	FLAG(0, "timestamps", "Put the time in front"),
	FLAG(0, "show-id", "Put the number of the session in front"),
	FLAG(0, "json", "One JSON object per record"),
	VALUE(0, "color", "WHEN", "Use colours", .choices = colour_choices,
	      .more = "Through a pipe, always also keeps the escape sequences that commands printed; "
		      "otherwise they are taken out."),
	FLAG(0, "no-color", "The same as --color never"),
	FLAG(0, "color-sessions", "Give each session a colour"),
	FLAG(0, "raw", "Pass every byte on, also to a terminal",
	     .more = "What commands printed can then control the terminal: move its cursor, hide lines, "
		     "change its title, or make it send answers as if you had typed them."),
	OPT_END
};
static const struct opt_set logs_sets[] = { { NULL, logs_opts }, { NULL, NULL } };
static const char *const logs_conflicts[][2] = {
	{ "color", "no-color" }, { "raw", "color" }, { "raw", "no-color" }, { "raw", "json" },
	{ NULL, NULL },
};

static const struct opt metrics_opts[] = {
	FLAG('a', "all", "Stopped ones too"),
	FLAG('w', "watch", "Redraw the table until interrupted"),
	FLAG('f', "follow", "One JSON object per sandbox and interval"),
	VALUE(0, "interval", "DURATION", "Time between samples (default 1s, at least 100ms)"),
	VALUE(0, "sort", "COLUMN", "Order of the rows", .choices = sort_choices),
	OPT_END
};
static const struct opt_set metrics_sets[] = {
	{ NULL, metrics_opts }, { NULL, format_opts }, { NULL, NULL }
};
static const char *const metrics_conflicts[][2] = {
	{ "watch", "follow" }, { "format", "watch" }, { "format", "follow" }, { NULL, NULL }
};
static const struct opt copy_opts[] = {
	FLAG('L', "follow-link", "If SRC is a link, copy what it leads to"),
	OPT_END
};
static const struct opt_set copy_sets[] = { { NULL, copy_opts }, { NULL, quiet_opts }, { NULL, NULL } };
static const struct opt_set silent_sets[] = { { NULL, silent_opts }, { NULL, NULL } };
static const struct opt_set names_sets[] = {
	{ NULL, format_opts }, { NULL, names_only_opts }, { NULL, NULL }
};

static const struct opt modify_opts[] = {
	CPUS('c', "cpus", "Processors"),
	CPUS(0, "max-cpus", "Ceiling of --cpus"),
	VALUE('m', "memory", "SIZE", "Memory"),
	VALUE(0, "max-memory", "SIZE", "Ceiling of --memory"),
	NUMBER(0, "pids-limit", "N", 0, SPEC_PIDS_MAX, "Processes and threads"),
	LIST('v', "volume", "SRC:PATH[:OPTS]", "Mount this at PATH from the next start",
	     .more = "Replaces the mount at PATH, or adds one. SRC is looked up as by 'create', so this "
		     "option also finds a directory again that was moved or replaced."),
	VALUE(0, "root-disk", "SIZE", "Size of the root file system",
	      .more = "Takes effect at the next start. A root disk in a file, flat or not, can only grow."),
	VALUE(0, "oci-upper-size", "SIZE", "Old name of --root-disk", .marks = OPT_HIDDEN),
	LIST('e', "env", "K=V", "Set a variable for later commands"),
	LIST(0, "env-rm", "K", "Forget a variable"),
	LIST(0, "label", "K=V", "Attach a label"),
	LIST(0, "label-rm", "K", "Remove a label"),
	VALUE('w', "workdir", "DIR", "Working directory of later commands"),
	LIST(0, "net", "PROFILE", "What may be reached: public, private, host, all, none"),
	LIST(0, "net-rule", "RULE", "Allow or deny a target, whatever the profile says",
	     .more = "Replaces all rules of the sandbox; --net-rule-add and --net-rule-rm change one."),
	LIST(0, "net-rule-add", "RULE", "Put this rule before the sandbox's other rules"),
	LIST(0, "net-rule-rm", "RULE", "Remove this rule, written as 'inspect' shows it"),
	VALUE(0, "net-default", "ACTION", "Action if no rule matches: allow or deny"),
	VALUE(0, "net-default-egress", "ACTION", "Action for outgoing traffic if no rule matches"),
	VALUE(0, "net-default-ingress", "ACTION", "Action for published ports if no rule matches"),
	LIST('p', "port", "[ADDR:]HOST:GUEST[/udp]", "Publish a port from the next start",
	     .more = "If the same port inside is published already, the new value replaces the old one."),
	LIST(0, "port-rm", "GUEST[/udp]", "Stop publishing this port of the sandbox"),
	LIST(0, "secret", "ENV@HOST[,HOST]", "Add or rotate a secret", NOT_YET),
	LIST(0, "secret-rm", "ENV", "Remove a secret", NOT_YET),
	FLAG(0, "dry-run", "Show the plan and change nothing"),
	FLAG(0, "next-start", "Apply at the next start"),
	FLAG(0, "restart", "Restart if a change needs it"),
	OPT_END
};
static const struct opt_set modify_sets[] = {
	{ NULL, modify_opts }, { NULL, format_opts }, { NULL, NULL }
};
static const char *const modify_conflicts[][2] = {
	{ "next-start", "restart" }, { "oci-upper-size", "root-disk" }, { "net", "net-default" },
	{ "net", "net-default-egress" }, { "net", "net-default-ingress" },
	{ "net-default", "net-default-egress" }, { "net-default", "net-default-ingress" },
	{ NULL, NULL }
};

/* --- images ----------------------------------------------------------------------------------- */

static const char *const materialize_choices[] = { "layered", "flat", "all", NULL };
static const char *const archive_choices[] = { "docker", "oci", NULL };

static const struct opt pull_opts[] = {
	FLAG('f', "force", "Fetch again what is already here"),
	FLAG(0, "insecure", "Plain HTTP"),
	VALUE(0, "ca-certs", "FILE", "Also trust these certificate authorities"),
	VALUE(0, "materialize", "HOW", "Which forms to prepare (default layered)",
	      .choices = materialize_choices,
	      .more = "layered: one tree for each layer, shared by all sandboxes. flat: also one file "
		      "system with all layers, for 'create --root-disk flat'; only root can make it. "
		      "If it is missing, the first such 'create' makes it. all is the same as flat."),
	OPT_END
};
static const struct opt load_opts[] = {
	VALUE('i', "input", "FILE", "Read this archive instead of stdin"),
	LIST('t', "tag", "REF", "Further name of the first image",
	     .more = "If the file of --input is the plain tar of a root file system, REF names the image that is "
		     "made from it."),
	OPT_END
};
static const struct opt save_opts[] = {
	VALUE('o', "output", "FILE", "Write this file instead of stdout"),
	VALUE(0, "format", "FORMAT", "Layout of the archive (default docker)", .choices = archive_choices),
	OPT_END
};
static const struct opt image_remove_opts[] = {
	FLAG('f', "force", "Delete images even if a sandbox uses them"),
	OPT_END
};
static const struct opt yes_opts[] = {
	FLAG('y', "yes", "Do not ask"),
	OPT_END
};
static const struct opt allow_opts[] = {
	FLAG('y', "yes", "Do not ask"),
	FLAG(0, "forget", "Take the permission back"),
	OPT_END
};
static const struct opt_set allow_sets[] = { { NULL, allow_opts }, { NULL, NULL } };
static const char *const allow_conflicts[][2] = { { "yes", "forget" }, { NULL, NULL } };
static const struct opt_set pull_sets[] = { { NULL, pull_opts }, { NULL, quiet_opts }, { NULL, NULL } };
static const struct opt_set load_sets[] = { { NULL, load_opts }, { NULL, quiet_opts }, { NULL, NULL } };
static const struct opt_set save_sets[] = { { NULL, save_opts }, { NULL, quiet_opts }, { NULL, NULL } };
static const struct opt_set image_remove_sets[] = {
	{ NULL, image_remove_opts }, { NULL, silent_opts }, { NULL, NULL }
};
static const struct opt_set prune_sets[] = {
	{ NULL, yes_opts }, { NULL, format_opts }, { NULL, quiet_opts }, { NULL, NULL }
};

/* Each of these commands exists twice: below `image`, and at the top level. Two of them have
 * another name at the top level: `images` and `rmi`. */
#define PULL_ROW \
	.run = cmd_pull, .summary = "Fetch an image from a registry", .usage = "REF", \
	.sets = pull_sets, .min_args = 1, .max_args = 1, .words = WORD_IMAGE
#define LOAD_ROW \
	.run = cmd_load, .summary = "Take images from an archive", .sets = load_sets, \
	.description = "Reads an archive as 'save' or other tools write it, with docker or OCI layout, " \
		       "compressed or not."
#define SAVE_ROW \
	.run = cmd_save, .summary = "Write images to an archive", .usage = "REF…", \
	.sets = save_sets, .min_args = 1, .max_args = ARGS_MANY, .words = WORD_IMAGE
#define IMAGE_LIST_ROW \
	.run = cmd_image_list, .summary = "List images", .sets = names_sets
#define IMAGE_REMOVE_ROW \
	.run = cmd_image_remove, .summary = "Delete images", .usage = "REF…", \
	.sets = image_remove_sets, .min_args = 1, .max_args = ARGS_MANY, .words = WORD_IMAGE

static const struct command image_commands[] = {
	{ .name = "pull", PULL_ROW },
	{ .name = "list", .aliases = "ls", IMAGE_LIST_ROW },
	{
		.name = "inspect", .run = cmd_image_inspect,
		.summary = "Show everything about one image",
		.usage = "REF", .sets = format_sets, .min_args = 1, .max_args = 1, .words = WORD_IMAGE,
	},
	{ .name = "load", LOAD_ROW },
	{ .name = "save", SAVE_ROW },
	{ .name = "remove", .aliases = "rm", IMAGE_REMOVE_ROW },
	{
		.name = "prune", .run = cmd_image_prune,
		.summary = "Delete images that no sandbox and no snapshot uses",
		.sets = prune_sets,
	},
	{ .name = NULL },
};

static const struct opt login_opts[] = {
	VALUE('u', "username", "USER", "Name to log in with"),
	FLAG(0, "password-stdin", "Read the password from stdin instead of asking"),
	FLAG(0, "no-check", "Store the password without asking the registry whether it is right"),
	FLAG(0, "insecure", "Plain HTTP"),
	VALUE(0, "ca-certs", "FILE", "Also trust these certificate authorities"),
	OPT_END
};
static const struct opt_set login_sets[] = { { NULL, login_opts }, { NULL, NULL } };
static const char *const login_requires[][2] = { { "HOST", "username" }, { NULL, NULL } };

static const struct command registry_commands[] = {
	{
		.name = "login", .run = cmd_registry_login, .summary = "Store credentials of a registry",
		.usage = "HOST", .sets = login_sets, .min_args = 1, .max_args = 1,
		.requires = login_requires,
	},
	{
		.name = "logout", .run = cmd_registry_logout, .summary = "Forget credentials of a registry",
		.usage = "HOST", .min_args = 1, .max_args = 1,
	},
	{ .name = "list", .aliases = "ls", .run = cmd_registry_list, .summary = "List registries with credentials" },
	{ .name = NULL },
};

/* --- storage ---------------------------------------------------------------------------------- */

static const char *const kind_choices[] = { "dir", "disk", NULL };

static const struct opt volume_create_opts[] = {
	VALUE(0, "name", "NAME", "Name, instead of the argument"),
	VALUE(0, "kind", "KIND", "A shared directory or a disk (default dir)", .choices = kind_choices),
	VALUE(0, "size", "SIZE", "Size of a disk"),
	OPT_END
};
static const struct opt_set volume_create_sets[] = {
	{ NULL, volume_create_opts }, { NULL, quiet_opts }, { NULL, NULL }
};
#define VOLUME_LIST_ROW .run = cmd_volume_list, .summary = "List volumes", .sets = names_sets

static const struct command volume_commands[] = {
	{
		.name = "create", .run = cmd_volume_create, .summary = "Make a volume and print its name",
		.usage = "[NAME]", .sets = volume_create_sets, .min_args = 1, .max_args = 1, .instead = "name",
	},
	{ .name = "list", .aliases = "ls", VOLUME_LIST_ROW },
	{
		.name = "inspect", .run = cmd_volume_inspect, .summary = "Show everything about one volume",
		.usage = "NAME", .min_args = 1, .max_args = 1, .words = WORD_VOLUME,
	},
	{
		.name = "remove", .aliases = "rm", .run = cmd_volume_remove, .summary = "Delete volumes",
		.description = "A volume that a sandbox uses is kept.",
		.usage = "NAME…", .sets = silent_sets, .min_args = 1, .max_args = ARGS_MANY,
		.words = WORD_VOLUME,
	},
	{ .name = NULL },
};

static const struct opt snapshot_create_opts[] = {
	VALUE(0, "from", "SANDBOX", "The stopped sandbox to take it from"),
	VALUE(0, "dest-dir", "DIR", "Store the snapshot in this directory"),
	LIST(0, "label", "K=V", "Attach a label"),
	FLAG('f', "force", "Replace a snapshot of the same name"),
	FLAG(0, "integrity", "Store a digest of its contents"),
	FLAG(0, "resumable", "Refused: snapshots hold disks only"),
	OPT_END
};
static const struct opt snapshot_inspect_opts[] = {
	FLAG(0, "verify", "Check its contents too"),
	OPT_END
};
static const struct opt snapshot_remove_opts[] = {
	FLAG('f', "force", "Delete it even if other snapshots build on it"),
	OPT_END
};
static const struct opt snapshot_save_opts[] = {
	FLAG(0, "with-parents", "Include the snapshots it builds on"),
	FLAG(0, "with-image", "Include its image"),
	FLAG(0, "plain-tar", "Do not compress"),
	OPT_END
};
static const struct opt_set snapshot_create_sets[] = {
	{ NULL, snapshot_create_opts }, { NULL, quiet_opts }, { NULL, NULL }
};
static const struct opt_set snapshot_inspect_sets[] = {
	{ NULL, snapshot_inspect_opts }, { NULL, format_opts }, { NULL, NULL }
};
static const struct opt_set snapshot_remove_sets[] = {
	{ NULL, snapshot_remove_opts }, { NULL, silent_opts }, { NULL, NULL }
};
static const struct opt_set snapshot_save_sets[] = { { NULL, snapshot_save_opts }, { NULL, NULL } };
static const char *const snapshot_create_requires[][2] = { { "NAME", "from" }, { NULL, NULL } };
#define SNAPSHOT_LIST_ROW .run = cmd_snapshot, .summary = "List snapshots", .sets = names_sets

static const struct command snapshot_commands[] = {
	{
		.name = "create", .run = cmd_snapshot, .summary = "Take a snapshot of a stopped sandbox",
		.usage = "NAME", .sets = snapshot_create_sets, .min_args = 1, .max_args = 1,
		.requires = snapshot_create_requires,
	},
	{ .name = "list", .aliases = "ls", SNAPSHOT_LIST_ROW },
	{
		.name = "inspect", .run = cmd_snapshot, .summary = "Show everything about one snapshot",
		.usage = "SNAPSHOT", .sets = snapshot_inspect_sets, .min_args = 1, .max_args = 1,
	},
	{
		.name = "verify", .run = cmd_snapshot, .summary = "Check the contents of a snapshot",
		.usage = "SNAPSHOT", .min_args = 1, .max_args = 1,
	},
	{
		.name = "remove", .aliases = "rm", .run = cmd_snapshot, .summary = "Delete snapshots",
		.usage = "SNAPSHOT…", .sets = snapshot_remove_sets, .min_args = 1, .max_args = ARGS_MANY,
	},
	{
		.name = "reindex", .run = cmd_snapshot, .summary = "Find snapshots in a directory",
		.usage = "[DIR]", .max_args = 1, .words = WORD_FILE,
	},
	{
		.name = "save", .run = cmd_snapshot, .summary = "Write a snapshot to an archive",
		.usage = "SNAPSHOT FILE", .sets = snapshot_save_sets, .min_args = 2, .max_args = 2,
		.words = WORD_FILE,
	},
	{
		.name = "load", .run = cmd_snapshot, .summary = "Take a snapshot from an archive",
		.usage = "FILE [DIR]", .min_args = 1, .max_args = 2, .words = WORD_FILE,
	},
	{ .name = NULL },
};

/* --- ssh -------------------------------------------------------------------------------------- */

static const struct opt ssh_name_opts[] = {
	VALUE(0, "name", "NAME", "Name of the sandbox, instead of the argument"),
	OPT_END
};
static const struct opt ssh_timeout_opts[] = {
	VALUE(0, "inactivity-timeout", "DURATION", "End silent sessions (default 600s, 0 never)"),
	FLAG(0, "no-inactivity-timeout", "Never end silent sessions"),
	OPT_END
};
static const struct opt ssh_serve_opts[] = {
	VALUE(0, "host", "ADDR", "Listen on this address (default 127.0.0.1)"),
	NUMBER(0, "port", "N", 0, 65535, "Listen on this port (default 2222)"),
	FLAG(0, "stdio", "Serve one session on stdin and stdout"),
	OPT_END
};
static const struct opt ssh_authorize_opts[] = {
	VALUE(0, "file", "FILE", "Read public keys from a file"),
	VALUE(0, "key", "KEY", "Take this public key"),
	FLAG(0, "stdin", "Read public keys from stdin"),
	OPT_END
};
static const struct opt_set ssh_sets[] = {
	{ NULL, ssh_name_opts }, { NULL, ssh_timeout_opts }, { NULL, NULL }
};
static const struct opt_set ssh_serve_sets[] = {
	{ NULL, ssh_serve_opts }, { NULL, ssh_timeout_opts }, { NULL, NULL }
};
static const struct opt_set ssh_authorize_sets[] = { { NULL, ssh_authorize_opts }, { NULL, NULL } };
static const char *const ssh_conflicts[][2] = {
	{ "NAME", "name" }, { "inactivity-timeout", "no-inactivity-timeout" }, { NULL, NULL }
};
static const char *const ssh_serve_conflicts[][2] = {
	{ "stdio", "host" }, { "stdio", "port" }, { "inactivity-timeout", "no-inactivity-timeout" },
	{ NULL, NULL }
};
static const char *const ssh_authorize_conflicts[][2] = {
	{ "file", "key" }, { "file", "stdin" }, { "key", "stdin" }, { NULL, NULL }
};
#define SSH_ROW \
	.run = cmd_ssh, .usage = "[NAME] [[--] COMMAND…]", .sets = ssh_sets, .max_args = 1, \
	.takes_rest = true, .words = WORD_SANDBOX, .conflicts = ssh_conflicts

static const struct command ssh_commands[] = {
	{ .name = "connect", .summary = "Open a session in a sandbox", SSH_ROW },
	{
		.name = "serve", .run = cmd_ssh, .summary = "Serve a sandbox to ssh clients",
		.usage = "NAME", .sets = ssh_serve_sets, .min_args = 1, .max_args = 1,
		.words = WORD_SANDBOX, .conflicts = ssh_serve_conflicts,
	},
	{
		.name = "authorize", .run = cmd_ssh, .summary = "Allow a public key to log in",
		.sets = ssh_authorize_sets, .conflicts = ssh_authorize_conflicts,
	},
	{ .name = NULL },
};

/* --- this installation ------------------------------------------------------------------------ */

static const struct opt doctor_opts[] = {
	FLAG(0, "fix", "Repair what can be repaired"),
	FLAG('y', "yes", "Do not ask before repairing"),
	OPT_END
};
static const struct opt_set doctor_sets[] = { { NULL, doctor_opts }, { NULL, NULL } };

static const struct opt install_opts[] = {
	VALUE('n', "name", "NAME", "Name of the command (default: from the image)"),
	CPUS('c', "cpus", "Processors"),
	VALUE('m', "memory", "SIZE", "Memory"),
	VALUE('w', "workdir", "DIR", "Working directory"),
	VALUE(0, "shell", "PROGRAM", "Interactive shell"),
	LIST('e', "env", "K=V", "Set a variable"),
	FLAG('f', "force", "Replace a command of the same name"),
	FLAG(0, "no-pull", "Do not fetch the image now"),
	FLAG(0, "tmp", "A fresh sandbox for every call"),
	FLAG('l', "list", "List installed commands"),
	OPT_END
};
static const struct opt_set install_sets[] = {
	{ NULL, install_opts }, { "Mounts", mount_opts }, { "Configuration files", conf_opts },
	{ NULL, NULL }
};
static const struct opt update_opts[] = {
	FLAG('f', "force", "Go on even if there is no newer version"),
	OPT_END
};
static const struct opt downgrade_opts[] = {
	FLAG('y', "yes", "Do not ask"),
	FLAG('f', "force", "Go on even if the version is the same"),
	FLAG(0, "keep-cache", "Keep cached images"),
	FLAG(0, "no-backup", "Make no copy of the state first"),
	OPT_END
};
static const struct opt_set update_sets[] = { { NULL, update_opts }, { NULL, NULL } };
static const struct opt_set downgrade_sets[] = { { NULL, downgrade_opts }, { NULL, NULL } };
static const struct opt_set yes_sets[] = { { NULL, yes_opts }, { NULL, NULL } };

#define DOCTOR_ROW \
	.run = cmd_doctor, .summary = "Check whether sandboxes can run on this machine", \
	.description = "Exits with status 0 if sandboxes can run, otherwise with 1. All text goes to stderr.", \
	.sets = doctor_sets
#define UPDATE_ROW \
	.name = "update", .aliases = "upgrade", .run = cmd_self_update, .sets = update_sets, \
	.summary = "Say how this program is updated"
#define DOWNGRADE_ROW \
	.name = "downgrade", .run = cmd_self_update, .sets = downgrade_sets, .usage = "VERSION", \
	.min_args = 1, .max_args = 1, .summary = "Say how an older version is installed"

static const struct command self_commands[] = {
	{ .name = "doctor", .aliases = "check", DOCTOR_ROW },
	{ UPDATE_ROW },
	{ DOWNGRADE_ROW },
	{
		.name = "uninstall", .run = cmd_self_uninstall,
		.summary = "Remove all sandboxes, images and volumes of this user",
		.sets = yes_sets,
	},
	{ .name = NULL },
};

static const struct opt box_serve_opts[] = {
	VALUE(0, "host", "ADDR", "Listen on this address (default 127.0.0.1, with a token 0.0.0.0)"),
	VALUE(0, "ws-control-port", "PORT", "Listen on this port (default 5410; 0 lets the kernel choose)"),
	FLAG('s', "stdio-control", "Take actions on standard input and answer on standard output"),
	OPT_END
};
static const struct opt_set box_serve_sets[] = { { NULL, box_serve_opts }, { NULL, NULL } };
static const struct command box_commands[] = {
	{
		.name = "serve", .run = cmd_box_serve, .sets = box_serve_sets,
		.summary = "Serve LangBot's Box protocol",
		.description =
			"Runs until SIGTERM; with --stdio-control also until standard input ends. All sandboxes that the "
			"server made end with it.",
	},
	{ .name = NULL },
};

#define SERVICE_CONFIG VALUE(0, "config", "FILE", "The configuration of the service, in JSON, as LangBot has it")
#define SERVICE_CALL                                                                               \
	VALUE(0, "session", "ID", "Use this session instead of the query's session"),     \
	VALUE(0, "query", "JSON", "The query of the person for whom the model works"),             \
	VALUE(0, "workspace", "DIR[:ro]", "Show this directory of the host as /workspace"),        \
	VALUE(0, "output-limit", "N", "Cut each output to this many characters (default 4000)")
#define SERVICE_STANDALONE FLAG(0, "standalone-box", "Like LangBot's option: the runtime is a server at 127.0.0.1:5410")
static const struct opt tool_opts[] = { SERVICE_CONFIG, SERVICE_CALL, SERVICE_STANDALONE, OPT_END };
static const struct opt_set tool_sets[] = { { NULL, tool_opts }, { NULL, NULL } };
static const struct opt service_opts[] = {
	SERVICE_CONFIG, SERVICE_STANDALONE,
	VALUE(0, "format", "FORMAT", "Print a table (text) or JSON (json)"),
	OPT_END
};
static const struct opt_set service_sets[] = { { NULL, service_opts }, { NULL, NULL } };
static const struct opt cleanup_opts[] = {
	SERVICE_CONFIG, SERVICE_STANDALONE,
	VALUE(0, "session", "ID", "End this session only"),
	OPT_END
};
static const struct opt_set cleanup_sets[] = { { NULL, cleanup_opts }, { NULL, NULL } };
static const struct command service_commands[] = {
	{
		.name = "status", .run = cmd_service_status, .sets = service_sets,
		.summary = "Show whether calls can run, and how the service is configured",
		.description =
			"Without a server, makes and ends one sandbox to find out. With a server, asks the server.",
	},
	{
		.name = "sessions", .run = cmd_service_sessions, .sets = service_sets,
		.summary = "List the sessions of the service",
	},
	{
		.name = "errors", .run = cmd_service_errors, .sets = service_sets,
		.summary = "Show the last 50 failures of calls, oldest first",
	},
	{
		.name = "resolve", .run = cmd_service_resolve, .sets = tool_sets,
		.summary = "Print the BoxSpec that a call would send, and start nothing",
		.description =
			"JSON is the argument of the tool exec, or a BoxSpec as `service exec` takes it.",
		.usage = "JSON", .min_args = 1, .max_args = 1,
	},
	{
		.name = "exec", .run = cmd_service_exec, .sets = tool_sets,
		.summary = "Run the command of a whole BoxSpec",
		.description =
			"For trusted callers: the BoxSpec keeps its session_id. Never give this to a model.",
		.usage = "JSON", .min_args = 1, .max_args = 1,
	},
	{
		.name = "cleanup", .run = cmd_service_cleanup, .sets = cleanup_sets,
		.summary = "End all sessions of the service",
	},
	{ .name = NULL },
};

static const char *const shell_choices[] = { "bash", "zsh", "fish", "elvish", "powershell", NULL };


static const struct command commands[] = {
	{
		.name = "create", .group = SANDBOXES, .run = cmd_create,
		.summary = "Make and start a sandbox in the background",
		.description =
			"Makes a sandbox from IMAGE, runs nothing in it, and returns as soon as it takes "
			"commands. Without --name the generated name is printed on stdout.\n\n"
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
			"sandbox is deleted afterwards. If --name names an existing sandbox, COMMAND runs "
			"there and creation options are ignored.\n\n"
			"Without COMMAND the image's command is run. If it has none, a shell runs, for you at a "
			"terminal or for a script on standard input.",
		.usage = "[IMAGE] [[--] COMMAND…]", .sets = run_sets, .max_args = 1, .takes_rest = true,
		.words = WORD_IMAGE, .conflicts = run_conflicts, .requires = create_requires,
	},
	{
		.name = "exec", .group = SANDBOXES, .run = cmd_exec,
		.summary = "Run a command in an existing sandbox",
		.description =
			"Runs COMMAND directly, without a shell, and returns its status: 126 when it cannot "
			"be executed, 127 when it is not found, 128+N when signal N killed it, 124 when "
			"--timeout killed it. A stopped sandbox is started for COMMAND and stopped again.\n\n"
			"Everything COMMAND started is killed when this client dies, unless COMMAND was started "
			"with --detach or somebody has attached to it.",
		.usage = "NAME [[--] COMMAND…]", .sets = exec_sets, .min_args = 1, .max_args = 1,
		.takes_rest = true, .words = WORD_SANDBOX, .conflicts = exec_conflicts,
		.requires = exec_requires,
	},
	{
		.name = "shell", .group = SANDBOXES, .run = cmd_shell,
		.summary = "Open a shell in a sandbox",
		.description =
			"The shell is the one that the sandbox was made with (--shell), otherwise bash if the sandbox "
			"has it, otherwise /bin/sh. It also runs a script on standard input. A stopped sandbox is started "
			"for the shell and stopped again.\n\n"
			"Without NAME the shell runs in a new sandbox that the project file (" PROJECT_FILE ") describes. It "
			"is removed when the shell ends.",
		.usage = "[NAME]", .sets = shell_sets, .max_args = 1, .words = WORD_SANDBOX,
		.conflicts = shell_conflicts,
	},
	{
		.name = "attach", .group = SANDBOXES, .run = cmd_attach,
		.summary = "Return to a detached terminal or background command",
		.description =
			"Without ID it returns to the latest terminal without a client, or else to the latest "
			"background command. The kept part of what the command printed meanwhile is shown first. "
			"The status is that of the command, also if it has ended already.\n\n"
			"The command goes on when this program ends, however it ends.",
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
		.instead = "label", .instead_too = "all", .words = WORD_SANDBOX, .conflicts = stop_conflicts,
		.requires = stop_requires,
	},
	{
		.name = "restart", .group = SANDBOXES, .run = cmd_restart,
		.summary = "Stop sandboxes and start them again",
		.usage = "[NAME…]", .sets = restart_sets, .min_args = 1, .max_args = ARGS_MANY,
		.instead = "label", .words = WORD_SANDBOX,
	},
	{
		.name = "remove", .aliases = "rm", .group = SANDBOXES, .run = cmd_remove,
		.summary = "Delete sandboxes",
		.description =
			"Deletes the record, the private file system and the logs. Images, volumes and "
			"mounted host paths stay.\n\n"
			"With --force it is no error if a sandbox does not exist, or if no name is given, so that a "
			"script may remove what `cordon list -q` prints.",
		.usage = "[NAME…]", .sets = remove_sets, .min_args = 1, .max_args = ARGS_MANY,
		.instead = "label", .instead_too = "all", .idle_with = "force", .words = WORD_SANDBOX,
		.conflicts = remove_conflicts,
	},
	{
		.name = "list", .aliases = "ls", .group = SANDBOXES, .run = cmd_list,
		.summary = "List sandboxes, newest first",
		.sets = list_sets,
	},
	{
		.name = "status", .group = SANDBOXES, .run = cmd_status,
		.summary = "Show what runs, with resources and ports",
		.usage = "[NAME]", .sets = status_sets, .max_args = 1, .words = WORD_SANDBOX,
		.conflicts = status_conflicts,
	},
	{
		.name = "ps", .group = SANDBOXES, .run = cmd_ps,
		.summary = "List the commands of a sandbox",
		.description =
			"Shows each command with its number, the time since which it runs, its state, and "
			"whether it has a terminal and an attached client. A background command that has ended "
			"is shown until somebody attaches to it, at most 30 minutes. attach, logs --id and "
			"stop --id take the number.\n\n"
			"Without NAME this is `status`.",
		.usage = "[NAME]", .sets = status_sets, .max_args = 1, .words = WORD_SANDBOX,
		.conflicts = status_conflicts,
	},
	{
		.name = "inspect", .group = SANDBOXES, .run = cmd_inspect,
		.summary = "Show everything about one sandbox",
		.usage = "NAME", .sets = inspect_sets, .min_args = 1, .max_args = 1, .words = WORD_SANDBOX,
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
		.name = "logs", .group = SANDBOXES, .run = cmd_logs,
		.summary = "Show what commands in a sandbox have printed",
		.usage = "NAME", .sets = logs_sets, .min_args = 1, .max_args = 1, .words = WORD_SANDBOX,
		.conflicts = logs_conflicts,
	},
	{
		.name = "metrics", .group = SANDBOXES, .run = cmd_metrics,
		.summary = "Show what sandboxes use",
		.usage = "[NAME]", .sets = metrics_sets, .max_args = 1, .words = WORD_SANDBOX,
		.conflicts = metrics_conflicts,
	},
	{
		.name = "copy", .aliases = "cp", .group = SANDBOXES, .run = cmd_copy,
		.summary = "Copy files into, out of and between sandboxes",
		.description =
			"NAME:PATH is a path in a sandbox, from its working directory if PATH is not absolute; any other "
			"path is on this machine. Directories are copied whole. If the destination is a directory or ends "
			"in '/', the source is put into it under its own name. Modes are kept, owners are not.\n\n"
			"As SRC, - reads standard input: a tar archive if DST is a directory or ends in '/', otherwise "
			"the contents of the file DST. As DST, - writes a tar archive to standard output.",
		.usage = "SRC DST", .sets = copy_sets, .min_args = 2, .max_args = 2, .words = WORD_FILE,
	},
	{
		.name = "modify", .aliases = "mod", .group = SANDBOXES, .run = cmd_modify,
		.summary = "Change a sandbox",
		.description =
			"All changes are planned first and applied together or not at all. A change that needs "
			"a restart is refused unless --restart or --next-start says when.",
		.usage = "NAME", .sets = modify_sets, .min_args = 1, .max_args = 1, .words = WORD_SANDBOX,
		.conflicts = modify_conflicts,
	},
	{
		.name = "init", .group = SANDBOXES, .run = cmd_init,
		.summary = "Write a project file, " PROJECT_FILE ", with comments",
		.description =
			"Writes " PROJECT_FILE " into the current directory. 'run', 'create' and 'shell' without an "
			"image use the project file of the current directory, or of the nearest directory above it.",
	},
	{
		.name = "allow", .group = SANDBOXES, .run = cmd_allow,
		.summary = "Show what the project file grants, and allow it",
		.description =
			"A project file has no effect until a person has allowed it. If the file, a file that it "
			"names, or the directory behind a volume changes, it must be allowed again.",
		.sets = allow_sets, .conflicts = allow_conflicts,
	},
	{
		.name = "ssh", .group = SANDBOXES, .sub = ssh_commands,
		.summary = "Reach a sandbox by ssh (not supported yet)", SSH_ROW,
	},
	{ .name = "pull", .group = IMAGES, PULL_ROW },
	{ .name = "load", .group = IMAGES, LOAD_ROW },
	{ .name = "save", .group = IMAGES, SAVE_ROW },
	{ .name = "image", .group = IMAGES, .sub = image_commands, .summary = "Manage images" },
	{ .name = "registry", .group = IMAGES, .sub = registry_commands, .summary = "Manage credentials of registries" },
	{ .name = "volume", .aliases = "vol", .group = STORAGE, .sub = volume_commands, .summary = "Manage named volumes" },
	{
		.name = "df", .group = STORAGE, .run = cmd_df,
		.summary = "Show what images, sandboxes and volumes occupy on the disk",
		.description =
			"RECLAIMABLE is what prune would free. Directories that only users inside a sandbox may read are "
			"not counted if you are not root.",
		.sets = format_sets,
	},
	{
		.name = "prune", .group = STORAGE, .run = cmd_prune,
		.summary = "Delete stopped sandboxes, unused volumes and layers of no image",
		.description =
			"Shows what goes, with sizes, and asks. A volume is unused if no sandbox names it, not even a stopped "
			"one. So this prune deletes a stopped sandbox, and the next prune its volumes. Images that have a "
			"name stay; 'image prune' deletes those that no sandbox uses.",
		.sets = prune_sets,
	},
	{
		.name = "snapshot", .aliases = "snap", .group = STORAGE, .sub = snapshot_commands,
		.summary = "Manage disk snapshots (not supported yet)",
	},
	{ .name = "box", .group = SANDBOXES, .sub = box_commands, .summary = "Serve sandboxes to LangBot" },
	{
		.name = "tool", .group = SANDBOXES, .run = cmd_tool,
		.summary = "Call a tool of a model in a sandbox",
		.description =
			"NAME is the tool: exec, read, write, edit, glob or grep. JSON is its argument, or - to read it from "
			"standard input. The result is JSON on standard output. "
			"The sandbox of a session is made by its first call and ends after five idle minutes.",
		.usage = "NAME JSON", .sets = tool_sets, .min_args = 2, .max_args = 2,
	},
	{
		.name = "service", .group = SANDBOXES, .sub = service_commands,
		.summary = "Show and end the sessions of tool calls, and say whether calls can run",
	},
	{
		.name = "install", .group = INSTALLATION, .run = cmd_install,
		.summary = "Make a command that runs in a sandbox",
		.description =
			"Writes a small script to the bin directory of the state directory. The script runs "
			"COMMAND, or the image's command, in a sandbox made from IMAGE.",
		.usage = "[IMAGE] [[--] COMMAND…]", .sets = install_sets, .max_args = 1, .takes_rest = true,
		.words = WORD_IMAGE,
	},
	{
		.name = "uninstall", .group = INSTALLATION, .run = cmd_uninstall,
		.summary = "Remove commands made by install",
		.usage = "NAME…", .min_args = 1, .max_args = ARGS_MANY,
	},
	{ .name = "doctor", .group = INSTALLATION, DOCTOR_ROW },
	{ .name = "self", .group = INSTALLATION, .sub = self_commands, .summary = "Manage this installation" },
	{ .group = INSTALLATION, UPDATE_ROW },
	{ .group = INSTALLATION, DOWNGRADE_ROW },
	{
		.name = "completion", .group = OTHER, .run = cmd_completion,
		.summary = "Print a completion script for a shell",
		.usage = "SHELL", .min_args = 1, .max_args = 1, .word_choices = shell_choices,
	},
	{
		.name = "context", .aliases = "ctx", .group = OTHER, .run = cmd_context,
		.summary = "Show where sandboxes run", .sets = format_sets,
	},
	{
		.name = "version", .group = OTHER, .run = cmd_version,
		.summary = "Print the version",
	},
	{
		.name = "help", .group = OTHER, .run = cmd_help,
		.summary = "Print help about a command or a topic",
		.usage = "[COMMAND… | TOPIC]", .max_args = 2, .words = WORD_COMMAND,
	},
	{ .name = "images", .hidden = true, IMAGE_LIST_ROW },
	{ .name = "rmi", .hidden = true, IMAGE_REMOVE_ROW },
	{ .name = "volumes", .hidden_aliases = "vols", .hidden = true, VOLUME_LIST_ROW },
	{ .name = "snapshots", .hidden_aliases = "snaps", .hidden = true, SNAPSHOT_LIST_ROW },
	{
		.name = "registries", .hidden_aliases = "regs", .hidden = true,
		.run = cmd_registry_list, .summary = "List registries with credentials",
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
