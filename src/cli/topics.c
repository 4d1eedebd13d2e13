#include "cli/topics.h"

#include <string.h>

// clang-format off
const struct topic topics[] = {
	{
		"agents", "give a coding agent a project and nothing else",
"An agent runs programs that nobody has read. In a sandbox these programs see the project, the\n"
"programs of the image and the public Internet; not your home, your keys, your other projects,\n"
"your network or your processes.\n"
"\n"
"One sandbox for the whole work, in which packages stay installed:\n"
"\n"
"    cordon create --name agent -v ./project:/project -w /project host\n"
"    cordon exec -t agent -- bash\n"
"    cordon logs agent\n"
"\n"
"Less network: what the agent needs, and nothing else.\n"
"\n"
"    cordon create --name agent --net-default deny --net-rule allow@pypi.org:tcp:443 host\n"
"    cordon logs agent --source net\n"
"\n"
"If a client dies, or a timeout of the agent kills it, everything that its command started ends,\n"
"too. Hermes and other programs that know msb use cordon under the name msb.\n"
"What a command leaves in the project is not harmless: look at it before you run it outside.\n"
	},
	{
		"containers", "cordon inside Docker, Podman, Kubernetes or CI",
"cordon needs to make user namespaces and to mount /proc. Container engines forbid both unless\n"
"they are told otherwise. 'cordon doctor' tries everything and names the missing option.\n"
"\n"
"    docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined \\\n"
"        --security-opt systempaths=unconfined -v cordon:/data -e CORDON_HOME=/data/cordon …\n"
"    podman run --security-opt seccomp=unconfined --security-opt apparmor=unconfined \\\n"
"        --security-opt unmask=ALL -v cordon:/data -e CORDON_HOME=/data/cordon …\n"
"\n"
"The volume is for speed: the root of a container is an overlay, and on it fuse-overlayfs has to\n"
"serve the roots of sandboxes. In a virtual machine of a CI service nothing of this is needed.\n"
	},
	{
		"limits", "memory, CPUs, processes, disk and time",
"    cordon run --memory 2G --cpus 1.5 --pids-limit 200 --timeout 10m host -- make\n"
"\n"
"A new sandbox has 512 MiB, one CPU, 1024 processes and a writable layer of 4 GiB. A limit that\n"
"you give is enforced or refused; --soft-limits takes what this machine can do. A user without a\n"
"cgroup of their own has weaker limits: 'cordon doctor' says which, and why.\n"
"\n"
"--timeout ends one command with status 124, --max-duration and --idle-timeout stop the whole\n"
"sandbox. A command that needed too much memory ends with status 137 and one line that says so.\n"
"\n"
"    cordon metrics\n"
"    cordon modify NAME --memory 4G\n"
	},
	{
		"mounts", "files of the host, named volumes and copies",
"Nothing of the host is visible except the image and what you mount:\n"
"\n"
"    cordon run -v ./src:/src host -- make -C /src          a directory, writable\n"
"    cordon run -v ./src:/src:ro host -- ls /src            read-only\n"
"    cordon run -v data:/data host -- ls /data              a named volume\n"
"    cordon run --tmpfs /scratch:1G host -- df /scratch     memory\n"
"    cordon copy NAME:/root/result ./                       a copy\n"
"\n"
"Root inside is the owner of a mounted directory outside, so new files are yours. If the image\n"
"or --user names another user, files are this user's inside. cordon looks a path up once: a\n"
"command cannot make it mean another directory later.\n"
"\n"
"A directory with a root file system is an image:\n"
"\n"
"    cordon run ./rootfs -- make                            changes stay in the directory\n"
"    cordon run ./rootfs,cow -- make                        the directory never changes\n"
	},
	{
		"network", "what a sandbox can reach, and ports",
"A new sandbox reaches the public Internet, and neither this machine, nor its network, nor the\n"
"metadata service of a cloud.\n"
"\n"
"    cordon run --no-net host -- make                       loopback only\n"
"    cordon run --net public,private host -- ping 10.0.0.1  your network, too\n"
"    cordon run --net-rule allow@10.0.0.5:tcp:5432 host -- psql -h 10.0.0.5\n"
"    cordon run --net-default deny --net-rule allow@example.com:tcp:443 host -- make\n"
"    cordon run -p 8080:80 host -- python3 -m http.server 80\n"
"\n"
"A port is published on 127.0.0.1 unless you write an address. Rules can change while the sandbox\n"
"runs; the log says what was refused.\n"
"\n"
"    cordon modify NAME --net-rule-add allow@10.0.0.5\n"
"    cordon logs NAME --source net\n"
"\n"
"cordon-policy(5) describes the rules.\n"
	},
	{
		"project", "the project file cordon.yaml",
"In a directory with a cordon.yaml, or below it, commands need no options:\n"
"\n"
"    cordon init                      writes a cordon.yaml with comments\n"
"    cordon allow                     shows what it grants, and asks\n"
"    cordon shell                     a shell in a new sandbox\n"
"    cordon run -- make test          one command in a new sandbox\n"
"    cordon create --name dev         a sandbox that stays\n"
"\n"
"    image: host\n"
"    mounts:\n"
"      - .:/workspace\n"
"    workdir: /workspace\n"
"    memory: \"2G\"\n"
"    network: {allow: [\"pypi.org\", \"*.pythonhosted.org\"]}\n"
"    env_file: .env\n"
"    scripts:\n"
"      check: make lint test\n"
"\n"
"The keys are env_file and those of --conf; cordon-create(1) lists them. The file has no effect\n"
"before you have allowed it, because a command inside, or the author of a repository, may have\n"
"written it. If it changes, or if a volume in it leads elsewhere, you are asked again; without a\n"
"terminal that is an error. Inside, the file is read-only.\n"
	},
	{
		"walls", "what separates a sandbox from this machine",
"All sandboxes share the kernel of this machine: a bug in it can break every wall. Between a\n"
"command and the machine there are, from the inside outwards:\n"
"\n"
"    users          root inside is an ordinary user outside, also if root started the sandbox\n"
"    system calls   an allow-list; calls that it does not know fail\n"
"    files          the image, a layer of its own, and what you mounted\n"
"    processes      its own numbers; when its pid 1 ends, all of them end\n"
"    network        a stack of its own in an unprivileged process, with a policy\n"
"    limits         memory, CPUs, processes and disk, by control groups where there are some\n"
"\n"
"Our own processes give up what they do not need before they read what a command can influence.\n"
"docs/security.md lists every promise with the tests that try to break it, and what is not\n"
"promised. For code that is an enemy and not only a risk, use a virtual machine.\n"
	},
	{ NULL, NULL, NULL },
};
// clang-format on

const struct topic *topic_find(const char *name)
{
	for (const struct topic *t = topics; t->name; t++)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

void topics_list(struct buf *out)
{
	for (const struct topic *t = topics; t->name; t++)
		buf_addf(out, "  %-31s %s\n", t->name, t->summary);
}
