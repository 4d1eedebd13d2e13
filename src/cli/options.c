#include "cli/options.h"

/* Upper bounds that the parser checks. Commands may have stricter checks. */
#define PIDS_MAX 4194304u /* the kernel's own ceiling for pid_max */
#define PORT_MAX 65535u

// clang-format off
const char *const format_choices[] = { "json", NULL };
static const char *const security_choices[] = { "default", "restricted", NULL };
static const char *const engine_choices[] = { "auto", "process", "vm", NULL };
static const char *const profile_choices[] = { "single-tenant", "multi-tenant", NULL };
static const char *const placement_choices[] = { "inherit", "auto", "spread", "compact", NULL };
static const char *const network_choices[] = { "none", "bridge", NULL };
static const char *const thp_choices[] = { "always", "madvise", "never", NULL };

const struct opt quiet_opts[] = {
	FLAG('q', "quiet", "No progress, no warnings"),
	OPT_END
};

const struct opt silent_opts[] = {
	FLAG('q', "quiet", "No progress, no warnings, no errors of single targets",
	     .more = "The exit status still reports errors."),
	OPT_END
};

const struct opt names_only_opts[] = {
	FLAG('q', "quiet", "Print names only"),
	OPT_END
};

const struct opt format_opts[] = {
	VALUE(0, "format", "FORMAT", "Print data for programs", .choices = format_choices),
	OPT_END
};

const struct opt label_opts[] = {
	LIST(0, "label", "K=V", "Choose sandboxes by label",
	     .more = "A bare K matches an empty value. If there are several labels, all must match. "
		     "Sandboxes that are named are added."),
	OPT_END
};

const struct opt command_opts[] = {
	VALUE(0, "timeout", "DURATION", "Kill the command after this time; status 124"),
	LIST(0, "rlimit", "NAME=SOFT[:HARD]", "Set a resource limit of the command",
	     .more = "NAME is one of cpu fsize data stack core rss nproc nofile memlock as locks "
		     "sigpending msgqueue nice rtprio rttime."),
	OPT_END
};

const struct opt tty_opts[] = {
	FLAG('i', "interactive", "Pass standard input on; without -t the command gets no terminal",
	     .more = "Standard input is passed on in any case. -it is the same as -t."),
	FLAG('t', "tty", "Give the command a terminal"),
	FLAG(0, "no-tty", "Give the command no terminal, even if stdin is one"),
	OPT_END
};

const struct opt create_opts[] = {
	VALUE('n', "name", "NAME", "Name of the sandbox",
	      .more = "Letters, digits, '.', '_' and '-', at most 128 bytes. Without this option a name is "
		      "made up."),
	FLAG(0, "replace", "Stop and delete a sandbox of the same name first",
	     .more = "The old sandbox gets 10 seconds to end."),
	VALUE(0, "replace-with-timeout", "DURATION", "Like --replace, with this grace time; 0 kills at once"),
	LIST(0, "label", "K=V", "Attach a label",
	     .more = "Keys that start with 'sandbox.', 'microsandbox.' or 'service.' are reserved."),
	VALUE(0, "engine", "ENGINE", "How to isolate the sandbox", .choices = engine_choices,
	      .more = "process uses namespaces of this kernel. vm, a virtual machine, is not supported yet, so "
		      "auto means process."),
	VALUE(0, "security", "PROFILE", "Rights of commands inside", .choices = security_choices,
	      .more = "restricted: no_new_privs, no capabilities, nosuid and nodev mounts."),
	FLAG(0, "seccomp-filters", "Let commands install system call filters of their own",
	     .more = "Without this flag the kernel seems to have no filters. All filters of the machine share one "
		     "pool of memory, which a sandbox with this flag can use up."),
	VALUE(0, "deployment-profile", "PROFILE", "Who shares this host", .choices = profile_choices),
	VALUE(0, "pull", "WHEN", "Fetch the image: always, if-missing or never"),
	VALUE(0, "log-level", "LEVEL", "Runtime log: error, warn, info, debug or trace",
	      .more = "The log says what the supervisor does; 'logs --source system' shows it."),
	FLAG('q', "quiet", "No progress, no warnings"),
	OPT_END
};

const struct opt resource_opts[] = {
	CPUS('c', "cpus", "Processors (default 1)",
	     .more = "A part of a CPU, such as 0.5, needs control groups."),
	VALUE('m', "memory", "SIZE", "Memory (default 512M)",
	      .more = "A plain number means MiB; K, M, G and T are understood."),
	CPUS(0, "max-cpus", "Upper limit for later changes of --cpus"),
	VALUE(0, "max-memory", "SIZE", "Upper limit for later changes of --memory"),
	NUMBER(0, "pids-limit", "N", 0, PIDS_MAX, "Processes and threads (default 1024)"),
	FLAG(0, "soft-limits", "Take --cpus, --memory and --pids-limit as defaults",
	     .more = "A limit that this machine cannot enforce is no error and no warning, and no weaker limit "
		     "replaces it. 'inspect' shows such limits."),
	VALUE(0, "max-duration", "DURATION", "Stop the sandbox this long after each start"),
	VALUE(0, "idle-timeout", "DURATION", "Stop the sandbox after this long without activity",
	      .more = "A running command is activity, however quiet. 'touch' resets the clock."),
	VALUE(0, "cpu-placement", "HOW", "Processors on which the sandbox runs", .choices = placement_choices),
	VALUE(0, "placement-profile", "NAME", "Stored for tools that place sandboxes"),
	VALUE(0, "thp", "MODE", "Transparent huge pages", .choices = thp_choices),
	OPT_END
};

const struct opt mount_opts[] = {
	LIST('v', "volume", "SRC:PATH[:OPTS]", "Mount a host path or a named volume",
	     .more = "SRC is a host path if it starts with '/', './' or '../', otherwise the name of "
		     "a volume, created if missing. OPTS is a comma list of ro, rw, noexec, nosuid, "
		     "nodev, quota=SIZE and others; see cordon-create(1)."),
	LIST(0, "mount-dir", "SRC:PATH[:OPTS]", "Mount a host directory"),
	LIST(0, "mount-file", "SRC:PATH[:OPTS]", "Mount a single host file"),
	LIST(0, "mount-disk", "SRC:PATH[:OPTS]", "Mount the file system of a disk image",
	     .more = "As root only. SRC is a raw image without a partition table; OPTS may name its "
		     "fstype=. Mount only images that you trust, because the kernel parses them."),
	LIST(0, "mount-named", "NAME:PATH[:OPTS]", "Mount a named volume"),
	LIST(0, "tmpfs", "PATH[:SIZE][:OPTS]", "Mount an empty file system held in memory"),
	LIST(0, "identity", "IDENTITY/PATH", "What a path was when 'install' looked it up", .marks = OPT_HIDDEN),
	OPT_END
};

const struct opt storage_opts[] = {
	VALUE(0, "root-disk", "SPEC", "Size or kind of the root file system",
	      .more = "SIZE, disk[:SIZE], tmpfs[:SIZE], flat[:SIZE] or a raw disk image of your own. The default of 4G is "
		      "enforced where that costs nothing; 'inspect' says how. With a size a directory image is copy-on-write. See "
		      "cordon-create(1)."),
	VALUE(0, "oci-upper-size", "SIZE", "Old name of --root-disk SIZE", .marks = OPT_HIDDEN),
	FLAG(0, "read-only", "Make the root file system read-only",
	     .more = "Mounts have their own modes, and /dev/shm stays writable. Cannot be combined with --copy, --mkdir and --rm."),
	LIST(0, "writable", "PATH", "A directory of the root that stays writable",
	     .more = "The directory is in the sandbox's own layer and is made if it is missing. With this option "
		     "/tmp is on disk even if it would be in memory."),
	LIST(0, "copy", "SRC:DST", "Copy something in before the first start",
	     .more = "If DST is a directory, SRC is copied into it. Nothing that exists is overwritten. These "
		     "changes happen in the order given, in the sandbox's own files only."),
	LIST(0, "copy-file", "SRC:DST", "Like --copy, for files only"),
	LIST(0, "copy-dir", "SRC:DST", "Like --copy, for directories only"),
	LIST(0, "mkdir", "PATH", "Make a directory before the first start"),
	LIST(0, "rm", "PATH", "Delete the sandbox when it ends, or only PATH before its start",
	     .marks = OPT_BARE,
	     .more = "--rm deletes the sandbox when it ends, even if it has a name. --rm=PATH removes a path before the "
		     "first start; msb writes this as --rm PATH."),
	OPT_END
};

const struct opt runtime_opts[] = {
	VALUE('w', "workdir", "DIR", "Working directory of commands"),
	VALUE(0, "shell", "PROGRAM", "Interactive shell (default /bin/sh)"),
	LIST('e', "env", "K=V", "Set a variable for all commands",
	     .more = "A bare K copies the value from your environment; an unset variable is an error."),
	ENV_FILE,
	VALUE(0, "entrypoint", "PROGRAM", "Replace the image's entrypoint"),
	VALUE('H', "hostname", "NAME", "Host name inside (default: from the name)"),
	VALUE('u', "user", "USER[:GROUP]", "User of commands, by name or number",
	      .more = "Looked up in the sandbox's own /etc/passwd and /etc/group."),
	VALUE(0, "init", "PATH", "Let this program be pid 1, or 'auto'", NOT_YET),
	LIST(0, "init-arg", "ARG", "Argument of --init", .marks = OPT_UNSUPPORTED | OPT_DASH_VALUE),
	LIST(0, "init-env", "K=V", "Variable of --init", NOT_YET),
	OPT_END
};

const struct opt script_opts[] = {
	LIST(0, "script", "NAME=BODY", "Put a script on the PATH; escapes such as \\n are decoded"),
	LIST(0, "script-raw", "NAME=BODY", "Like --script, without decoding escapes"),
	LIST(0, "script-path", "NAME:FILE", "Like --script-raw, with the text of a file"),
	OPT_END
};

const struct opt network_opts[] = {
	FLAG(0, "no-net", "No network but loopback (also --no-network)", .alias = "no-network"),
	VALUE(0, "network", "MODE", "No network (none), or the default (bridge)", .choices = network_choices),
	LIST(0, "net", "PROFILE", "What may be reached: public, private, host, all, none",
	     .more = "Profiles combine as a comma list, except all and none."),
	LIST('p', "port", "[ADDR:]HOST:GUEST[/PROTO]", "Publish a port on the host"),
	LIST(0, "net-rule", "RULE", "Allow or deny a target, whatever the profile says",
	     .more = "ACTION[:DIRECTION]@TARGET[:PROTO[:PORTS]], for example "
		     "allow@example.com:tcp:443; several are separated by commas."),
	VALUE(0, "net-default", "ACTION", "Action if no rule matches: allow or deny"),
	VALUE(0, "net-default-egress", "ACTION", "Action for outgoing traffic if no rule matches"),
	VALUE(0, "net-default-ingress", "ACTION", "Action for published ports if no rule matches"),
	FLAG(0, "net-strict", "Allow names only where the protocol shows them"),
	FLAG(0, "no-dns-rebind-protection", "Let public names resolve to private addresses"),
	LIST(0, "dns-nameserver", "ADDR", "Ask this resolver instead of the host's"),
	NUMBER(0, "dns-query-timeout-ms", "N", 0, UINT64_MAX, "Wait this long for a resolver (default 5000)"),
	VALUE(0, "net-ipv4-pool", "CIDR", "Take guest IPv4 addresses from this network"),
	VALUE(0, "net-ipv6-pool", "CIDR", "Take guest IPv6 addresses from this network"),
	VALUE(0, "net-egress-bandwidth", "BYTES[/DURATION]", "Limit outgoing bytes"),
	VALUE(0, "net-egress-bandwidth-burst", "BYTES", "Size of one burst of outgoing bytes"),
	VALUE(0, "net-egress-ops", "N[/DURATION]", "Limit outgoing packets"),
	VALUE(0, "net-egress-ops-burst", "N", "Size of one burst of outgoing packets"),
	VALUE(0, "net-ingress-bandwidth", "BYTES[/DURATION]", "Limit incoming bytes"),
	VALUE(0, "net-ingress-bandwidth-burst", "BYTES", "Size of one burst of incoming bytes"),
	VALUE(0, "net-ingress-ops", "N[/DURATION]", "Limit incoming packets"),
	VALUE(0, "net-ingress-ops-burst", "N", "Size of one burst of incoming packets"),
	NUMBER(0, "max-connections", "N", 0, UINT32_MAX, "Connections at one time (default 256)"),
	FLAG(0, "trust-host-cas", "Add the host's root certificates to the sandbox"),
	VALUE(0, "proxy", "URL", "Send all traffic through socks4:// or socks5://", NOT_YET),
	VALUE(0, "socks4-user-id", "ID", "User id for --proxy socks4://", NOT_YET),
	VALUE(0, "socks5-username", "NAME", "User name for --proxy socks5://", NOT_YET),
	VALUE(0, "socks5-password-env", "VAR", "Variable that holds the proxy password", NOT_YET),
	LIST(0, "vsock", "PATH:PORT[/KIND]", "Connect a vsock port to a host socket", NOT_YET),
	OPT_END
};

const struct opt tls_opts[] = {
	LIST(0, "secret", "ENV@HOST[,HOST]", "A secret for these hosts, unseen inside", NOT_YET),
	VALUE(0, "on-secret-violation", "ACTION", "What to do if a secret is sent elsewhere",
	      .more = "block, block-and-log (default), block-and-terminate or passthrough.", NOT_YET),
	FLAG(0, "tls-intercept", "Look into TLS connections", NOT_YET),
	LIST(0, "tls-intercept-port", "N", "Port to intercept (default 443)", .min = 0, .max = PORT_MAX, NOT_YET),
	LIST(0, "tls-bypass", "PATTERN", "Hosts that are not intercepted", NOT_YET),
	FLAG(0, "no-block-quic", "Leave QUIC alone on intercepted ports", NOT_YET),
	VALUE(0, "tls-intercept-ca-cert", "FILE", "Certificate to sign with", NOT_YET),
	VALUE(0, "tls-intercept-ca-key", "FILE", "Key of that certificate", NOT_YET),
	LIST(0, "tls-upstream-ca-cert", "FILE", "Also trust this authority upstream", NOT_YET),
	LIST(0, "tls-upstream-ca-cert-for", "PATTERN=FILE", "Only for these hosts", NOT_YET),
	LIST(0, "tls-no-verify-upstream-for", "PATTERN", "Do not verify these hosts", NOT_YET),
	OPT_END
};

const struct opt conf_opts[] = {
	LIST(0, "conf", "FILE", "Read options from a YAML file"),
	LIST(0, "net-conf", "FILE", "Read only the network part of a file"),
	LIST(0, "resource-conf", "FILE", "Read only the resources part of a file"),
	LIST(0, "runtime-conf", "FILE", "Read only the runtime part of a file"),
	LIST(0, "fs-conf", "FILE", "Read only the file system part of a file"),
	LIST(0, "secret-conf", "FILE", "Read only the secrets part of a file", NOT_YET),
	LIST(0, "script-conf", "FILE", "Read only the scripts part of a file"),
	OPT_END
};
// clang-format on
