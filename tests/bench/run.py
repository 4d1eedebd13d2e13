#!/usr/bin/env python3
"""Compares cordon with other programs ("peers") on this machine, in interleaved runs.

Most rows are lists of commands. tests/bench/spawn.c runs them in turn, each round in another order. The bench
prints the median, the 95th percentile, the ratio of cordon to each peer and the budget of that ratio. If a peer
cannot run on this machine, the bench prints the peer's error. If root runs the bench, it measures everything twice,
the second time as a temporary ordinary user. The status is 1 if a budget is missed.

One of the peers is tests/bench/whole.c. It makes the system calls that `cordon run` needs, without our code around
them. If even whole.c exceeds the budget for a peer, this budget is not judged. Then only the budget for whole.c
counts."""
import argparse
import json
import os
import pathlib
import platform
import pwd
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import box
import images
import neighbour
import network
import service

ROOT = pathlib.Path(__file__).resolve().parents[2]
USER = "cordon-bench"
GROUPS = ("run", "images", "network", "neighbour", "box", "service")  # groups of rows
BASE_SOURCES = [ROOT / "src/base" / f"{name}.c" for name in ("buf", "clock", "cleanup", "err", "io", "str")]
CLIENT_ROOMS = ("client", "state", "spec", "policy", "wire", "loop", "base", "base-plain")  # in the linker's order
TRUE = "/usr/bin/true"
PARTS = "its parts"  # the peer whole.c, which makes the system calls of a run without our code
OUTPUT_BYTES = 1 << 30
# lines of /proc/meminfo that are added up
ACCOUNTED = ("Slab", "KernelStack", "PageTables", "Percpu", "AnonPages", "Shmem")
CROWD = 500  # live sandboxes for the row on scale


def tail(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no message"


def link_usr(root):
    """Links /bin and similar names in the directory ROOT as on the host."""
    for link in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink("/" + link):
            (root / link).symlink_to(os.readlink("/" + link))


def sub_ids(who):
    """Returns the first subordinate user id and the first subordinate group id of WHO. Returns "0" for both if WHO is
    not the temporary user, or does not have enough of both kinds."""
    found = []
    for path in ("/etc/subuid", "/etc/subgid"):
        lines = (line.split(":") for line in pathlib.Path(path).read_text().splitlines())
        found += [first for name, first, n in lines if who.uid is not None and name == USER and int(n) >= 65535][:1]
    return found if len(found) == 2 else ["0", "0"]


class Who:
    """The account that commands run under: its ids, an environment and a directory."""

    def __init__(self, name, work, uid=None, gid=None):
        self.name, self.uid, self.gid = name, uid, gid
        self.dir = work / f"as-{name}"
        self.dir.mkdir(mode=0o700)
        if uid is not None:
            os.chown(self.dir, uid, gid)
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    "HOME": str(self.dir), "CORDON_HOME": str(self.dir / "state"),
                    "XDG_RUNTIME_DIR": str(self.dir), "LANG": "C.UTF-8"}
        # for peers that are not installed in the system's directories
        for name in ("LD_LIBRARY_PATH", "CORDON_BENCH_PATH"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        if "CORDON_BENCH_PATH" in os.environ:
            self.env["PATH"] = os.environ["CORDON_BENCH_PATH"] + ":" + self.env["PATH"]
        self.privileged = os.geteuid() == 0 and uid is None

    def find(self, program):
        return shutil.which(program, path=self.env["PATH"])

    def popen(self, argv, **kw):
        if self.uid is not None:
            kw.update(user=self.uid, group=self.gid, extra_groups=[])
        return subprocess.Popen(argv, env=self.env, cwd=self.dir, **kw)

    def run(self, argv, timeout=60):
        """Returns the exit status and stderr. stderr goes to a file, because background processes of a command would
        keep a pipe open."""
        with tempfile.TemporaryFile("w+") as err:
            process = self.popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return 124, f"no end after {timeout} s"
            err.seek(0)
            return process.returncode, err.read()


class Peer:
    """One way to do a row's work. ARGV may contain {n}, the number of the round."""

    def __init__(self, name, argv, every=1, budget=None, error=None, remark="", mount_ns="", like=None):
        self.name, self.argv, self.every, self.mount_ns = name, argv, every, mount_ns
        self.budget = budget  # the largest allowed ratio of cordon's median to this peer's
        self.like = like  # the name of the variant of cordon that this peer is compared with, if not the first variant
        self.error, self.remark = error, remark


class Bench:
    Peer, base_sources = Peer, BASE_SOURCES  # used by the files with other groups of rows

    def __init__(self, args, work):
        self.args, self.work = args, work
        self.missed, self.results = [], []
        self.cordon = self.stage()
        self.spawn, self.floor, self.kept = work / "spawn", work / "floor", work / "kept"
        self.whole, self.boxed = work / "whole", work / "boxed"
        for program in (self.spawn, self.floor, self.whole):
            error = self.compile(program, BASE_SOURCES)
            if error:
                sys.exit(error)
        self.filter = work / "filter"
        if self.cordon:
            self.filter_error = self.compile(self.filter, [ROOT / "build/hot" / f"lib{room}.a" for room in ("guest", "base")])
            rooms = [ROOT / "build/hot" / f"lib{room}.a" for room in CLIENT_ROOMS]
            self.kept_error = self.compile(self.kept, [room for room in rooms if room.exists()])
            self.boxed_error = self.compile(self.boxed, [room for room in rooms if room.exists()])

    def compile(self, out, link):
        made = subprocess.run(["musl-gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-static", "-ffunction-sections",
                               "-Wl,--gc-sections", f"-I{ROOT / 'src'}", "-idirafter", "/usr/include",
                               "-idirafter", "/usr/include/x86_64-linux-gnu", "-o", out,
                               ROOT / "tests/bench" / f"{out.name}.c", *link], stderr=subprocess.PIPE, text=True)
        return None if made.returncode == 0 else "does not build: " + tail(made.stderr)

    def stage(self):
        """Copies the staged install to a place that an ordinary user can reach. Returns the program cordon there, or
        None."""
        source = pathlib.Path(self.args.prefix)
        if not (source / "bin/cordon").exists():
            return None
        shutil.copytree(source, self.work / "stage", symlinks=True)
        return str(self.work / "stage/bin/cordon")

    # --- rows -------------------------------------------------------------------------------------

    def measure(self, who, peers, seconds, read_output=False, rounds=None):
        """Returns three dicts by the name of the peer: the samples in ms, the largest memory in KiB, and the bytes of
        output. Failures go to peer.error."""
        for peer in peers:
            if peer.error is None:
                inside = ["/usr/bin/nsenter", f"--mount={peer.mount_ns}"] if peer.mount_ns else []
                code, err = who.run(inside + [a.replace("{n}", "try") for a in peer.argv])
                if code != 0:
                    peer.error = f"status {code}: {tail(err)}"
        able = [p for p in peers if p.error is None]
        plan = "".join("\t".join([str(p.every), p.mount_ns, *p.argv]) + "\n" for p in able)
        argv = [str(self.spawn), "-t", str(seconds)] + (["-o"] if read_output else [])
        argv += ["-n", str(rounds)] if rounds else []
        process = who.popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)
        out, _ = process.communicate(plan)
        samples = {p.name: [] for p in able}
        memory, count = {}, {}
        for line in out.splitlines():
            index, ns, status, rss, size = map(int, line.split())
            peer = able[index]
            if status != 0:
                peer.error = f"wait status {status} in one of the runs"
            samples[peer.name].append(ns / 1e6)
            memory[peer.name] = max(memory.get(peer.name, 0), rss)
            count[peer.name] = size
        return samples, memory, count

    def judge(self, row, who, peers, samples, unit="ms"):
        """Prints a row. The first peer is cordon; a peer can be compared with another variant of cordon
        (Peer.like)."""
        ours = peers[0]
        print(f"\n{row}, as {who.name}")
        medians = {p.name: statistics.median(samples[p.name]) for p in peers if not p.error and samples.get(p.name)}
        parts = statistics.median(samples.get(PARTS) or [0])
        for peer in peers:
            base = medians.get(peer.like or ours.name)
            if peer.error:
                print(f"  {peer.name:<22} not measured: {peer.error}")
                if peer.budget and base is not None:
                    self.note(row, who, peer.name, None, peer.budget)
                continue
            values = sorted(samples[peer.name])
            median, p95 = statistics.median(values), values[min(len(values) - 1, len(values) * 95 // 100)]
            line = f"  {peer.name:<22} {median:9.3f} {unit}  p95 {p95:9.3f}  n {len(values):>4}"
            if peer is not ours and base is not None:
                ratio = base / median
                line += f"  {peer.like or 'cordon'} is {ratio:6.3f} x"
                if peer.budget:
                    line += self.note(row, who, peer.name, ratio, peer.budget, parts=parts / median)
            print(line + (f"  ({peer.remark})" if peer.remark else ""))
            self.results.append({"row": row, "as": who.name, "peer": peer.name, "median": median,
                                 "p95": p95, "n": len(values), "unit": unit})
        sys.stdout.flush()

    def note(self, row, who, peer, ratio, budget, at_least=False, parts=0):
        """Returns a remark that says whether the budget is met, and adds a missed budget to self.missed. PARTS is the
        ratio of whole.c to the peer, in time or memory. If this ratio is over the budget, the budget is not judged."""
        if ratio is None:
            return ""
        if not at_least and parts > budget and peer != PARTS:
            return f", budget ≤ {budget}: less than the parts alone, {parts:.3f} x"
        good = ratio >= budget if at_least else ratio <= budget
        if not good:
            self.missed.append(f"{row}, as {who.name}: {ratio:.3f} x {peer}, budget "
                               f"{'at least' if at_least else 'at most'} {budget}")
        return f", budget {'≥' if at_least else '≤'} {budget}: {'met' if good else 'MISSED'}"

    def ours(self, name, *argv):
        if self.cordon is None:
            return Peer(name, [], error=f"no {self.args.prefix}/bin/cordon; run ./dev bench")
        return Peer(name, [self.cordon, *argv])

    # --- the programs -------------------------------------------------------------------------------

    def bwrap(self, who, *command, dev=True):
        path = who.find("bwrap")
        argv = [path, "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr"]
        for link in ("bin", "sbin", "lib", "lib64"):
            if os.path.islink("/" + link):
                argv += ["--symlink", os.readlink("/" + link), "/" + link]
        argv += ["--dev", "/dev"] if dev else []
        argv += ["--proc", "/proc", "--tmpfs", "/tmp", "--ro-bind", str(self.work), "/bench",
                 "--cap-drop", "ALL", *command]
        return argv if path else None

    # --- what is measured -----------------------------------------------------------------------------

    def row_run(self, who, others):
        """Creates a sandbox, runs a command and destroys the sandbox. Only docker and cordon have a network by
        default, so `docker run` is compared with cordon's default. All other peers, also docker with --network none,
        are compared with cordon --no-net."""
        with_network, without = "cordon", "cordon --no-net"
        peers = [self.ours(with_network, "run", "host", "--", "true"),
                 self.ours(without, "run", "--no-net", "host", "--", "true"),
                 Peer("bare spawn", [TRUE]), Peer("floor", [str(self.floor), TRUE]), self.parts(who)]
        bwrap = self.bwrap(who, TRUE)
        peers.append(Peer("bubblewrap", bwrap or [], budget=0.5, error=None if bwrap else "not installed"))
        peers.append(Peer("unshare", ["/usr/bin/unshare", "-Ur", "-mpinuC", "--fork", "--mount-proc", TRUE],
                          remark="keeps the host's root"))
        nsjail = who.find("nsjail")
        peers.append(Peer("nsjail", [nsjail or "", "-Mo", "-Q", "--chroot", "/", "--", TRUE], 2, 0.35,
                          None if nsjail else "not packaged in Debian 12"))
        peers.append(others["crun"].run_peer(2, 0.25))
        peers.append(others["runc"].run_peer(4))
        peers.append(others["docker"].run_peer("docker --network none", 10, None, "--network", "none"))
        for peer in peers[2:]:
            peer.like = without
        peers.append(others["docker"].run_peer("docker run", 10, 0.02))
        samples, _, _ = self.measure(who, peers, self.args.seconds)
        self.judge("run, cold, to exit, one at a time", who, peers, samples)

    def parts(self, who):
        top = who.dir / "whole"
        for name in ("usr", "proc", "dev", "sys", "tmp"):
            (top / "lower" / name).mkdir(parents=True)
        link_usr(top / "lower")
        if who.uid is not None:
            os.chown(top, who.uid, who.gid)
        return Peer(PARTS, [str(self.whole), str(top), TRUE, *sub_ids(who)], budget=1.3,
                    remark="only the work of the kernel")

    def row_exec(self, who, others):
        """Runs a command in a running sandbox."""
        closers = []
        name = f"bench-{os.getpid()}"
        ours = self.ours("cordon exec", "exec", name, "--", "true")
        if ours.error is None:
            code, err = who.run([self.cordon, "create", "-n", name, "--no-net", "host"])
            if code == 0:
                closers.append(lambda: who.run([self.cordon, "rm", "-f", name]))
            else:
                ours.error = f"create: status {code}: {tail(err)}"
        peers = [ours, Peer("bare spawn", [TRUE], budget=2), self.nsenter_peer(who, closers),
                 others["crun"].exec_peer(2, 0.25), others["runc"].exec_peer(4),
                 others["docker"].exec_peer(10, 0.03)]
        try:
            samples, _, _ = self.measure(who, peers, self.args.seconds)
            self.judge("exec, warm, to exit, one at a time", who, peers, samples)
            if ours.error is None:
                self.row_kept(who, name)
                self.row_output(who, name)
        finally:
            for close in closers:
                close()

    def nsenter_peer(self, who, closers):
        # We do not use --dev. With it, bubblewrap puts the payload into a second user namespace. nsenter would enter
        # the second namespace first, and would then have no right to enter the mount namespace and the others.
        argv = self.bwrap(who, "--info-fd", "1", "/bench/floor", "--pause", dev=False)
        if argv is None:
            return Peer("nsenter", [], error="bubblewrap is not installed")
        process = who.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        closers.append(lambda: (process.kill(), process.wait()))
        text = ""
        for line in process.stdout:
            text += line
            if "}" in line:
                break
        try:
            pid = json.loads(text)["child-pid"]
        except (ValueError, KeyError):
            return Peer("nsenter", [], error="bubblewrap did not start")
        return Peer("nsenter", ["/usr/bin/nsenter", "-t", str(pid), "-U", "-m", "-p", "-i", "-u", "-n", "-C",
                                "--preserve-credentials", TRUE], budget=0.6, remark="into bubblewrap")

    def row_kept(self, who, name):
        """Measures commands over a kept connection. A dynamic `true` has a budget. The time of a static program is only
        reported."""
        if self.kept_error:
            print(f"\nexec over a kept connection, as {who.name}\n  not measured: {self.kept_error}")
            return
        for command, budget in (([TRUE], 1.25), (["/usr/bin/busybox", "true"], None)):
            peers = [Peer("kept connection", []), Peer("bare spawn", [], budget=budget)]
            process = who.popen([str(self.kept), name, str(max(2, self.args.seconds // 3)), *command],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            out, err = process.communicate()
            samples = {p.name: [] for p in peers}
            for line in out.splitlines():
                index, ns, *_ = map(int, line.split())
                samples[peers[index].name].append(ns / 1e6)
            if process.returncode != 0:
                for peer in peers:
                    peer.error = tail(err)
            self.judge(f"exec over a kept connection, {os.path.basename(command[0])}", who, peers, samples)

    def row_output(self, who, name):
        head = ["head", "-c", str(OUTPUT_BYTES), "/dev/zero"]
        peers = [self.ours("cordon exec", "exec", name, "--", *head), Peer("bare pipe", ["/usr/bin/" + head[0], *head[1:]])]
        samples, memory, count = self.measure(who, peers, 1, read_output=True, rounds=3 if self.args.quick else 5)
        row = f"{OUTPUT_BYTES >> 20} MiB of output through exec"
        self.judge(row, who, peers, samples)
        if peers[0].error:
            return
        for peer in peers:
            if count[peer.name] != OUTPUT_BYTES:
                self.missed.append(f"{row}, as {who.name}: {peer.name} gave {count[peer.name]} bytes")
        ratio = statistics.median(samples["bare pipe"]) / statistics.median(samples["cordon exec"])
        print(f"  throughput {ratio:.3f} x bare pipe{self.note(row, who, 'bare pipe', ratio, 0.5, True)}; "
              f"largest memory of the client {memory['cordon exec']} KiB")

    def row_filter(self, who):
        """Reports how much time the system call filter costs commands. This cost has no budget."""
        process = who.popen([str(self.filter)], stdout=subprocess.PIPE, text=True)
        out, _ = process.communicate()
        if process.returncode != 0:
            return
        print("\nthe system call filter")
        for line in out.splitlines():
            name, free, filtered = line.split()
            if name == "attach":
                print(f"  {name:<22} {float(filtered) / 1000:9.1f} us")
            else:
                print(f"  {name:<22} {float(free):9.1f} ns free  {float(filtered):9.1f} ns under the filter")

    @staticmethod
    def settle():
        """Makes the kernel return freed objects to the page allocator. Otherwise the next peer could reuse these
        objects, and its memory would look smaller. Only root can do this."""
        if os.geteuid() != 0:
            return
        os.sync()
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        for shrink in pathlib.Path("/sys/kernel/slab").glob("*/shrink"):
            shrink.write_text("1")

    @staticmethod
    def meminfo():
        """Returns KiB: MemAvailable, and the sum of what the kernel accounts as used. If /proc/slabinfo is
        readable, counts only the active objects of slabs, because the next peer reuses the free objects that an
        earlier peer left."""
        words = dict(line.split(":", 1) for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
        kib = {key: int(value.split()[0]) for key, value in words.items()}
        try:
            slabs = [line.split() for line in pathlib.Path("/proc/slabinfo").read_text().splitlines()[2:]]
            # the number of active objects, and their size
            kib["Slab"] = sum(int(s[1]) * int(s[3]) for s in slabs) // 1024
        except PermissionError:
            pass
        return kib["MemAvailable"], sum(kib.get(key, 0) for key in ACCOUNTED)

    def at_rest(self):
        """Waits until the used memory is stable, because the kernel frees namespaces in the background. Returns the
        last meminfo()."""
        self.settle()
        seen = []
        for _ in range(40):
            seen.append(self.meminfo())
            last = [used for _, used in seen[-4:]]
            if len(seen) >= 4 and max(last) - min(last) < 1024:
                break
            time.sleep(0.25)
            if len(seen) % 4 == 0:
                self.settle()
        return seen[-1]

    def per_sandbox(self, n, start, stop):
        """Returns the KiB of each of N idle sandboxes and None, or None and the reason of the failure. The KiB are the
        median of three tries, or those of one try with --quick. The accounted memory is judged, because
        MemAvailable changes with cached pages by more than the size of a sandbox."""
        used, available = [], []
        for _ in range(1 if self.args.quick else 3):
            before = self.at_rest()
            try:
                error = start(n)
                after = self.at_rest()
                available.append((before[0] - after[0]) / n)
                used.append((after[1] - before[1]) / n)
            finally:
                stop(n)
            if error:
                return None, error
        self.by_available = statistics.median(available)
        return statistics.median(used), None

    def also(self):
        return f" ({self.by_available:.0f} by MemAvailable)"

    def row_memory(self, who):
        n = 60 if self.args.quick else 300
        running = []

        def cordon_start(count):
            for i in range(count):
                code, err = who.run([self.cordon, "create", "-n", f"idle{i}", "--no-net", "host"])
                if code != 0:
                    return f"create: status {code}: {tail(err)}"
            return None

        def cordon_stop(count):
            who.run([self.cordon, "rm", "-f", *[f"idle{i}" for i in range(count)]], timeout=120)

        def start(argv, count, **popen):
            if argv is None:
                return "not installed"
            for _ in range(count):
                running.append(who.popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **popen))
            time.sleep(1)
            return None if all(p.poll() is None for p in running) else "did not stay alive"

        def bwrap_start(count):
            return start(self.bwrap(who, "/bench/floor", "--pause"), count)

        def floor_start(count):
            return start([str(self.floor), "--idle"], count)

        def parts_start(count):
            return start([str(self.whole), str(who.dir / "whole"), "-", *sub_ids(who)], count, stdin=subprocess.PIPE)

        def parts_stop(_):
            for p in running:
                p.stdin.close()  # the idle programs now end
            for p in running:
                p.wait()
            running.clear()

        def stop(_):
            for p in running:
                p.kill()
            for p in running:
                p.wait()
            running.clear()

        row = f"memory per idle sandbox without network, {n} of them"
        print(f"\n{row}, as {who.name}")
        least, fault = self.per_sandbox(n, floor_start, stop)
        print(f"  {'floor':<22} " + (f"{least:9.1f} KiB{self.also()}  (namespaces, a tmpfs and two static processes)"
                                      if fault is None else f"not measured: {fault}"))
        parts, fault = self.per_sandbox(n, parts_start, parts_stop)
        print(f"  {PARTS:<22} " + (f"{parts:9.1f} KiB{self.also()}  (and a record, limits, a writable root, devices)"
                                   if fault is None else f"not measured: {fault}"))
        theirs, error = self.per_sandbox(n, bwrap_start, stop)
        print(f"  {'bubblewrap':<22} " + (f"{theirs:9.1f} KiB{self.also()}" if error is None else f"not measured: {error}"))
        if self.cordon is None:
            print(f"  {'cordon':<22} not measured: {self.ours('').error}")
            return
        ours, problem = self.per_sandbox(n, cordon_start, cordon_stop)
        if problem:
            print(f"  {'cordon':<22} not measured: {problem}")
            return
        line = f"  {'cordon':<22} {ours:9.1f} KiB{self.also()}"
        if ours <= 0 or (error is None and theirs <= 0):
            line += "  not judged: other work moves more memory than this"
        elif error is None:
            line += f"  {ours / theirs:.3f} x bubblewrap" + self.note(row, who, "bubblewrap", ours / theirs, 0.5,
                                                                      parts=(parts or 0) / theirs)
        if ours > 0 and parts:
            line += f"  {ours / parts:.3f} x {PARTS}{self.note(row, who, PARTS, ours / parts, 1.4)}"
        print(line)
        self.results.append({"row": row, "as": who.name, "cordon": ours, "bubblewrap": theirs, "floor": least,
                             PARTS: parts, "unit": "KiB"})

    def row_crowd(self, who):
        row = f"exec with {CROWD} live sandboxes against one"
        if self.cordon is None:
            return
        print(f"\n{row}, as {who.name}")
        made = []

        def exec_median(target):
            peer = self.ours("cordon exec", "exec", target, "--", "true")
            samples, _, _ = self.measure(who, [peer], 3, rounds=300)
            if peer.error:
                raise RuntimeError(peer.error)
            return statistics.median(samples[peer.name])

        try:
            for i in range(CROWD):
                name = f"crowd{i}"
                code, err = who.run([self.cordon, "create", "-n", name, "--no-net", "host"])
                if code != 0:
                    raise RuntimeError(f"sandbox {i}: {tail(err)}")
                made.append(name)
                if i == 0:
                    alone = exec_median(name)
            many = max(exec_median(made[0]), exec_median(made[-1]))
            print(f"  {'one':<22} {alone:9.3f} ms\n  {CROWD:<22} {many:9.3f} ms  {many / alone:.3f} x"
                  f"{self.note(row, who, 'one', many / alone, 1.5)}")
        except RuntimeError as error:
            print(f"  not measured: {error}")
        finally:
            for start in range(0, len(made), 50):
                who.run([self.cordon, "rm", "-f", *made[start:start + 50]], timeout=120)


class Oci:
    """crun or runc with a bundle of the host's /usr. The bundle's configuration is the runtime's own default with a few
    changes."""

    def __init__(self, who, name, hybrid_free):
        self.who, self.name, self.error = who, name, None
        self.path, self.live, self.mount_ns, self.remark = who.find(name), False, "", ""
        if self.path is None:
            self.error = "not installed"
            return
        self.once, self.forever = self.bundle([TRUE]), self.bundle(["/usr/bin/sleep", "1000"])
        if self.error is None and not self.works():
            first = self.error
            self.mount_ns, self.error = hybrid_free, None
            if not self.mount_ns or not self.works():
                self.error = first
            else:
                self.remark = "does not see cgroup2"

    def command(self, *args):
        return [self.path, "--root", str(self.who.dir / f"run-{self.name}"), *args]

    def call(self, *args):
        inside = ["/usr/bin/nsenter", f"--mount={self.mount_ns}"] if self.mount_ns else []
        return self.who.run(inside + self.command(*args))

    def works(self):
        code, err = self.call("run", "--bundle", self.once, "probe")
        if code != 0:
            self.error = f"status {code}: {tail(err)}"
        return code == 0

    def bundle(self, args):
        where = self.who.dir / f"{self.name}-{os.path.basename(args[0])}"
        for name in ("usr", "proc", "dev", "sys", "tmp"):
            (where / "rootfs" / name).mkdir(parents=True)
        link_usr(where / "rootfs")
        if self.who.uid is not None:
            subprocess.run(["chown", "-R", f"{self.who.uid}:{self.who.gid}", where], check=True)
        code, err = self.who.run([self.path, "spec", *([] if self.who.privileged else ["--rootless"])])
        made = self.who.dir / "config.json"
        if code != 0:
            self.error = f"spec: {tail(err)}"
            return ""
        config = json.loads(made.read_text())
        made.unlink()
        config["process"].update(terminal=False, args=args)
        # the runtime's default raises some limits. If the bench runs in a container, the runtime has no right to do so
        config["process"].pop("rlimits", None)
        config["root"] = {"path": "rootfs", "readonly": True}
        config["mounts"].append({"destination": "/usr", "type": "bind", "source": "/usr",
                                 "options": ["rbind", "ro"]})
        (where / "config.json").write_text(json.dumps(config))
        return str(where)

    def peer(self, name, every, budget, *args):
        argv = [] if self.error else self.command(*args)
        return Peer(name, argv, every, budget, self.error, self.remark, self.mount_ns)

    def run_peer(self, every, budget=None):
        return self.peer(self.name, every, budget, "run", "--bundle", getattr(self, "once", ""), "b{n}")

    def exec_peer(self, every, budget=None):
        if self.error is None:
            code, err = self.call("run", "--bundle", self.forever, "--detach", "live")
            self.live = code == 0
            if code != 0:
                self.error = f"status {code}: {tail(err)}"
        return self.peer(f"{self.name} exec", every, budget, "exec", "live", TRUE)

    def stop(self):
        if self.live:
            self.call("delete", "-f", "live")


class Docker:
    """A separate dockerd with its own directories and network namespace. It does not change the host's rules and
    bridges."""

    NO_BRIDGE = ["--iptables=false", "--ip6tables=false", "--bridge=none"]

    def __init__(self, who, work):
        self.error, self.bridge_error, self.daemon = None, None, None
        self.who, self.dir = who, work / "docker"
        if not who.privileged:
            self.error = "needs root"
        elif who.find("dockerd") is None or who.find("docker") is None:
            self.error = "not installed"
        else:
            self.dir.mkdir()
            self.bridge_error = self.start()
            self.error = self.start(*self.NO_BRIDGE) if self.bridge_error else None
        if self.error is None:
            self.load_image()

    def client(self, *args):
        return [self.who.find("docker"), "-H", f"unix://{self.dir}/socket", *args]

    def start(self, *options):
        """Starts the daemon. Returns None, or the reason why it failed."""
        log = open(self.dir / "log", "w")
        self.daemon = self.who.popen(
            ["/usr/bin/unshare", "-n", self.who.find("dockerd"), "--data-root", f"{self.dir}/data",
             "--exec-root", f"{self.dir}/exec", "-H", f"unix://{self.dir}/socket", "-p", f"{self.dir}/pid",
             "--storage-driver=overlay2", *options], stdout=log, stderr=log)
        deadline = time.monotonic() + 20
        while self.who.run(self.client("version"))[0] != 0:
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                self.stop()
                return "dockerd: " + tail((self.dir / "log").read_text())
            time.sleep(0.1)
        return None

    def load_image(self):
        root = self.dir / "image"
        for name in ("usr", "proc", "dev", "sys", "tmp", "etc"):
            (root / name).mkdir(parents=True)
        link_usr(root)
        subprocess.run(["tar", "-C", root, "-cf", self.dir / "image.tar", "."], check=True)
        code, err = self.who.run(self.client("import", f"{self.dir}/image.tar", "bench"))
        if code != 0:
            self.error = "docker import: " + tail(err)

    def run_peer(self, name, every, budget, *options):
        error = self.error or (None if options else self.bridge_error)
        argv = [] if error else self.client("run", "--rm", *options, "-v", "/usr:/usr:ro", "bench", TRUE)
        return Peer(name, argv, every, budget, error)

    def exec_peer(self, every, budget):
        if not self.error:
            code, err = self.who.run(self.client("run", "-d", "--name", "live", "--network", "none", "-v",
                                                 "/usr:/usr:ro", "bench", "/usr/bin/sleep", "1000"))
            if code != 0:
                self.error = "docker run: " + tail(err)
        return Peer("docker exec", [] if self.error else self.client("exec", "live", TRUE), every, budget,
                    self.error)

    def stop(self):
        if self.daemon is None:
            return
        self.who.run(self.client("rm", "-f", "live"))
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()


def make_user():
    """Makes the ordinary user, with subordinate ids from useradd. Returns the user and None, or None and the reason of
    the failure."""
    try:
        return pwd.getpwnam(USER), None
    except KeyError:
        pass
    made = subprocess.run(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin",
                           "--add-subids-for-system", USER], capture_output=True, text=True)
    if made.returncode != 0:
        return None, tail(made.stderr)
    return pwd.getpwnam(USER), None


def describe():
    cpu = "unknown processor"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    print(f"{os.cpu_count()} x {cpu}, Linux {platform.release()}, load {os.getloadavg()[0]:.2f}")
    if os.getloadavg()[0] > 0.5 * os.cpu_count():
        print("warn: other work is running; ratios hold better than times, and neither holds well")


class HybridFree:
    """A mount namespace without cgroup2, for machines that also have version 1: crun refuses to run with both
    versions."""

    def __init__(self, who):
        self.process, self.path = None, ""
        mounts = [line.split() for line in open("/proc/self/mounts")]
        both = {m[2] for m in mounts} >= {"cgroup", "cgroup2"}
        if not (both and who.privileged):
            return
        hide = "; ".join(f"umount {m[1]}" for m in mounts if m[2] == "cgroup2")
        self.process = who.popen(["/usr/bin/unshare", "-m", "/bin/sh", "-c", hide + "; echo; exec sleep 100000"],
                                 stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.path = f"/proc/{self.process.pid}/ns/mnt"

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()


def measure_as(bench, who):
    free = HybridFree(who)
    others = {"crun": Oci(who, "crun", free.path), "runc": Oci(who, "runc", ""),
              "docker": Docker(who, bench.work)}
    chosen = bench.args.rows or (GROUPS[:1] if bench.args.quick else GROUPS)
    try:
        if "run" in chosen:
            bench.row_run(who, others)
            bench.row_exec(who, others)
        if "images" in chosen:
            images.rows(bench, who, others["docker"])
    finally:
        for other in [*others.values(), free]:
            other.stop()
    if "network" in chosen:
        network.rows(bench, who)
    if "neighbour" in chosen:
        neighbour.row(bench, who)
    if "box" in chosen:
        box.rows(bench, who)
    if "service" in chosen:
        service.rows(bench, who)
    if "run" not in chosen:
        return
    bench.row_memory(who)
    bench.row_crowd(who)
    if bench.cordon and who.uid is None and not bench.filter_error:
        bench.row_filter(who)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--quick", action="store_true", help="run and exec alone unless --rows says otherwise: 80 seconds, for everyday use")
    ap.add_argument("--seconds", type=int, help="per row (default 30, quick 4)")
    ap.add_argument("--prefix", default=str(ROOT / "build/stage"), help="the install to measure")
    ap.add_argument("--only", choices=["root", "user"], help="one of the two passes")
    ap.add_argument("--rows", action="append", choices=GROUPS, help="only this group of rows (repeatable)")
    ap.add_argument("--json", type=pathlib.Path, help="also write the figures here")
    args = ap.parse_args()
    args.seconds = args.seconds or (4 if args.quick else 30)
    describe()
    user_made = False
    with tempfile.TemporaryDirectory(prefix="cordon-bench-", ignore_cleanup_errors=True) as tmp:
        work = pathlib.Path(tmp)
        work.chmod(0o755)
        bench = Bench(args, work)
        try:
            if os.geteuid() != 0:
                measure_as(bench, Who(pwd.getpwuid(os.geteuid()).pw_name, work))
            else:
                if args.only != "user":
                    measure_as(bench, Who("root", work))
                if args.only != "root":
                    entry, error = make_user()
                    user_made = entry is not None
                    if entry:
                        measure_as(bench, Who("user", work, entry.pw_uid, entry.pw_gid))
                    else:
                        print(f"\nas an ordinary user: not measured: {error}")
        finally:
            if user_made:
                subprocess.run(["userdel", USER], capture_output=True)
    if args.json:
        args.json.write_text(json.dumps({"results": bench.results, "missed": bench.missed}, indent=2) + "\n")
    print()
    for line in bench.missed:
        print("missed: " + line)
    print("all budgets that could be judged are met" if not bench.missed else f"{len(bench.missed)} budgets missed")
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
