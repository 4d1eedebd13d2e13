"""Measures images: how long it takes to unpack an image and to start a sandbox from an image, and the memory of a load.

The python image is made of the files of the host's own Debian packages, so nothing is downloaded. No script of a
package runs. Every peer (a program that is compared with cordon) writes to the same file system, below the bench's own
directory.
"""
import gzip
import hashlib
import io
import itertools
import json
import os
import shutil
import subprocess
import tarfile

PACKAGES = """python3 python3-minimal python3.11 python3.11-minimal libpython3-stdlib libpython3.11-stdlib
libpython3.11-minimal bash libc6 libssl3 libsqlite3-0 zlib1g libffi8 libexpat1 libbz2-1.0 liblzma5 libncursesw6
libtinfo6 libreadline8 libuuid1 libdb5.3 media-types""".split()
LAYERS = 20  # layers of the image that sandboxes are created from
SMALL_MIB, LARGE_MIB = 16, 256  # sizes of two layers whose unpacking must need the same memory


def package_files():
    """Returns the real paths of the files of PACKAGES on this host."""
    listed = subprocess.run(["dpkg-query", "-L", *PACKAGES], capture_output=True, text=True).stdout
    found = {}
    for path in listed.splitlines():
        if path.startswith("/") and os.path.lexists(path) and not path.startswith("/usr/share/doc"):
            real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
            if real != "/" and not os.path.ismount(real):
                found[real] = None
    return list(found)


def owned_by_root(info):
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def python_tar(path):
    with tarfile.open(path, "w") as tar:
        for name in package_files():
            tar.add(name, arcname=name[1:], recursive=False, filter=owned_by_root)


def small_tar(path, number):
    """Writes one of the small layers of the image with LAYERS layers: a directory with a few files."""
    with tarfile.open(path, "w") as tar:
        for i in range(10):
            info = tarfile.TarInfo(f"opt/layer{number}/file{i}")
            info.size = 1000
            tar.addfile(info, io.BytesIO(b"x" * 1000))


def busybox_tar(path):
    """Writes a layer with busybox and the directories that every image has."""
    with tarfile.open(path, "w") as tar:
        for name in ("bin", "dev", "etc", "proc", "root", "run", "sys", "tmp", "usr", "var"):
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        tar.add("/bin/busybox", arcname="bin/busybox", filter=owned_by_root)
        for applet in ("sh", "sleep", "true"):
            info = tarfile.TarInfo(f"bin/{applet}")
            info.type, info.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(info)


def single_layer_archive(path, mib):
    """Writes an archive in docker's layout with one gzip layer, which holds MIB MiB of random bytes."""
    layer, diff = io.BytesIO(), hashlib.sha256()
    info = tarfile.TarInfo("file")
    info.size = mib << 20
    with gzip.GzipFile(fileobj=layer, mode="wb", compresslevel=1, mtime=0) as out:
        for piece in itertools.chain([info.tobuf()], (os.urandom(1 << 20) for _ in range(mib)), [bytes(1024)]):
            out.write(piece)
            diff.update(piece)
    config = {"architecture": "amd64", "os": "linux",
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + diff.hexdigest()]}}
    manifest = [{"Config": "config.json", "RepoTags": [f"mib:{mib}"], "Layers": ["layer.tar"]}]
    with tarfile.open(path, "w") as tar:
        for name, data in (("layer.tar", layer.getvalue()), ("config.json", json.dumps(config).encode()),
                           ("manifest.json", json.dumps(manifest).encode())):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


class Images:
    """The images for the measurements below, as OCI layout and as archives. Every account can read them."""

    def __init__(self, work):
        self.dir, self.error = work / "images", None
        lacking = [p for p in ("umoci", "skopeo", "dpkg-query", "/bin/busybox") if not shutil.which(p)]
        if lacking:
            self.error = f"{lacking[0]} is not installed"
        elif not self.dir.exists():
            self.make()

    def make(self):
        self.dir.mkdir(mode=0o755)
        (self.dir / "policy.json").write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        self.tool("umoci", "init", "--layout", self.layout)
        python_tar(self.dir / "python.tar")
        self.image("python", ["python.tar"])
        busybox_tar(self.dir / "busybox.tar")
        names = ["busybox.tar"]
        for i in range(LAYERS - 1):
            small_tar(self.dir / f"small{i}.tar", i)
            names.append(f"small{i}.tar")
        self.image("layers", names)
        subprocess.run(["chmod", "-R", "a+rX", self.dir], check=True)

    @property
    def layout(self):
        return self.dir / "layout"

    def tool(self, *argv):
        subprocess.run([str(a) for a in argv], check=True, capture_output=True)

    def image(self, tag, layers):
        ref = f"{self.layout}:{tag}"
        self.tool("umoci", "new", "--image", ref)
        for layer in layers:
            self.tool("umoci", "raw", "add-layer", "--image", ref, self.dir / layer)
        self.tool("umoci", "config", "--image", ref, "--architecture", "amd64", "--os", "linux",
                  "--config.cmd", "/bin/true", "--config.env", "PATH=/usr/bin:/bin")
        self.tool("skopeo", "copy", "-q", f"oci:{self.layout}:{tag}", f"oci-archive:{self.archive(tag)}:{tag}:1")
        self.tool("skopeo", "copy", "-q", f"oci:{self.layout}:{tag}", f"docker-archive:{self.dir / tag}-docker.tar:{tag}:1")

    def archive(self, tag):
        return self.dir / f"{tag}-oci.tar"


class Podman:
    """Podman with its own settings. Each command names its storage."""

    def __init__(self, who, work):
        # podman limits the path of its run directory to 50 bytes, so this path and the names below it are short
        self.who, self.dir, self.error = who, work / "podman", None
        if not who.privileged:
            self.error = "needs root"
        elif who.find("podman") is None:
            self.error = "not installed"
        else:
            self.dir.mkdir()
            self.configure()

    def configure(self):
        runtime = "runc" if self.who.find("runc") else "crun"
        # raising limits needs a capability that root in a container lacks
        (self.dir / "containers.conf").write_text(f'''[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "{runtime}"
tmp_dir = "{self.dir}/tmp"
''')

    def store(self, name):
        """Returns the two directories of the store NAME: for its images, and for the state of running commands."""
        return self.dir / f"{name}-g", self.dir / f"{name}-r"

    def command(self, store, *args):
        if self.error:
            return []
        graph, run = self.store(store)
        return ["/usr/bin/env", f"CONTAINERS_CONF={self.dir}/containers.conf", self.who.find("podman"), "--log-level",
                "error", "--storage-driver", "overlay", "--root", str(graph), "--runroot", str(run), *args]

    def stop(self):
        if not self.dir.exists():
            return
        for line in reversed(open("/proc/self/mounts").readlines()):
            if line.split()[1].startswith(f"{self.dir}/"):
                subprocess.run(["umount", "-l", line.split()[1]], capture_output=True)
        shutil.rmtree(self.dir, ignore_errors=True)


def rows(bench, who, docker):
    images = Images(bench.work)
    if images.error or bench.cordon is None:
        print(f"\nimages, as {who.name}\n  not measured: {images.error or bench.ours('').error}")
        return
    podman = Podman(who, bench.work)
    try:
        row_unpack(bench, who, images, podman)
        row_create(bench, who, images, podman, docker)
    finally:
        podman.stop()
    row_memory(bench, who, images)


def in_home(bench, who, home, *args):
    return ["/usr/bin/env", f"CORDON_HOME={who.dir}/{home}", bench.cordon, *args]


def forget(bench, who, pattern):
    """Removes homes. Image layers may have files with subordinate ids, which this process may be unable to delete. So
    `cordon image prune` deletes the layers first."""
    for home in who.dir.glob(pattern):
        who.run(in_home(bench, who, home.name, "image", "prune", "-y", "-q"))
        shutil.rmtree(home, ignore_errors=True)


def row_unpack(bench, who, images, podman):
    """Measures the time from an archive on disk to a usable tree. Every run starts with an empty store."""
    archive = str(images.archive("python"))
    graph, run = podman.store("unpack{n}")
    peers = [bench.Peer("cordon load", in_home(bench, who, "unpack{n}", "load", "-q", "-i", archive),
                        remark="digests checked, tree on disk"),
             bench.Peer("umoci unpack", ["/usr/bin/umoci", "unpack", *([] if who.privileged else ["--rootless"]),
                                         "--image", f"{images.layout}:python", f"{who.dir}/bundle{{n}}"], budget=0.7),
             bench.Peer("podman load", podman.command("unpack{n}", "load", "-q", "-i", archive), error=podman.error),
             bench.Peer("skopeo copy", ["/usr/bin/skopeo", "--policy", str(images.dir / "policy.json"), "copy", "-q",
                                        f"oci-archive:{archive}",
                                        f"containers-storage:[overlay@{graph}-s+{run}-s]localhost/python:1"],
                        error=podman.error, remark="into podman's store")]
    try:
        samples, _, _ = bench.measure(who, peers, 300, rounds=5 if bench.args.quick else 15)
        bench.judge("unpack of the python image, empty store, one at a time", who, peers, samples)
    finally:
        forget(bench, who, "unpack*")
        for bundle in who.dir.glob("bundle*"):
            shutil.rmtree(bundle, ignore_errors=True)


def row_create(bench, who, images, podman, docker):
    """Measures the time from a local image to a sandbox that answers. Docker's container is created, not started."""
    rounds = 20 if bench.args.quick else 60
    prepared = [(None, in_home(bench, who, "layers", "load", "-q", "-i", str(images.archive("layers")))),
                (podman, podman.command("layers", "load", "-q", "-i", str(images.archive("layers"))))]
    if not docker.error:
        prepared.append((docker, docker.client("load", "-q", "-i", str(images.dir / "layers-docker.tar"))))
    ours = bench.Peer("cordon create", in_home(bench, who, "layers", "create", "-q", "-n", "c{n}", "layers:1"))
    errors = {}
    for owner, argv in prepared:
        code, err = (0, "") if owner and owner.error else who.run(argv)
        if code != 0:
            errors[owner] = f"load: status {code}: {err.strip()[-160:]}"
    ours.error = errors.get(None)
    start = podman.command("layers", "run", "--detach", "--pull=never", "--network", "none", "layers:1", "sleep", "1000")
    peers = [ours,
             bench.Peer("podman create + start", start, 4, 0.05, podman.error or errors.get(podman)),
             bench.Peer("docker create", [] if docker.error else
                        docker.client("create", "--network", "none", "layers:1", "sleep", "1000"), 4, None,
                        docker.error or errors.get(docker))]
    try:
        samples, _, _ = bench.measure(who, peers, 300, rounds=rounds)
        bench.judge(f"create from an image of {LAYERS} layers, warm, to the first possible exec", who, peers, samples)
    finally:
        names = [f"c{i}" for i in ["try", *range(rounds)]]
        who.run(in_home(bench, who, "layers", "rm", "-f", "-q", *names), timeout=120)
        forget(bench, who, "layers")
        if not podman.error:
            who.run(podman.command("layers", "rm", "--all", "--force", "--time", "0"), timeout=120)


def row_memory(bench, who, images):
    """Measures the memory of the largest process of a load. This memory must not grow with the layer."""
    row = f"memory of a load, a layer of {LARGE_MIB} MiB against one of {SMALL_MIB} MiB"
    peers = []
    for mib in (SMALL_MIB, LARGE_MIB):
        archive = images.dir / f"{mib}.tar"
        if not archive.exists():
            single_layer_archive(archive, mib)
        peers.append(bench.Peer(f"{mib} MiB", in_home(bench, who, f"memory{mib}-{{n}}", "load", "-q", "-i", str(archive))))
    try:
        _, memory, _ = bench.measure(who, peers, 300, rounds=2)
    finally:
        forget(bench, who, "memory*")
    print(f"\n{row}, as {who.name}")
    for peer in peers:
        if peer.error:
            print(f"  {peer.name:<22} not measured: {peer.error}")
            return
        print(f"  {peer.name:<22} {memory[peer.name]:9d} KiB")
    ratio = memory[peers[1].name] / memory[peers[0].name]
    print(f"  {ratio:.3f} x{bench.note(row, who, peers[0].name, ratio, 1.25)}")
    bench.results.append({"row": row, "as": who.name, "ratio": ratio})
