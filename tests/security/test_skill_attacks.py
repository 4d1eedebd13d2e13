"""Attacks cordon-skills with hostile packages and bad requests. Packages are mounted writable in sandboxes, so
their contents can be anything and can change at any moment."""

import ctypes
import fcntl
import json
import os
import random
import resource
import shutil
import signal
import socket
import stat
import struct
import threading

import attack  # noqa: F401  (sets the path)
from harness import MODE, Process
from skills_worker import ANSWER_SECONDS, TENANT, Archive, SkillsTest, Worker

SKILL = b"---\nname: s\n---\n\ntext"
STAY = "path must stay within the skill package root"
RENAME_EXCHANGE = 2
CHOWN, DAC_OVERRIDE, FOWNER = (1 << n for n in (0, 1, 3))


class HostileTest(SkillsTest):
    def setUp(self):
        super().setUp()
        self.package("s", "s")
        self.inside = os.path.join(self.store, "s")
        self.outside = os.path.join(self.dir, "outside")
        os.makedirs(self.outside + "/dir")
        for path in ("secret", "dir/file"):
            self.put(path, "secret", store=self.outside)
        self.before = self.tree(self.outside)

    def untouched(self):
        self.assertEqual(self.tree(self.outside), self.before)


class Links(HostileTest):
    def test_no_link_leads_out(self):
        for name, target in (("absolute", self.outside + "/secret"), ("relative", "../../../../outside/secret"),
                             ("root", "/"), ("proc", "/proc/self/root/etc/passwd"), ("up", "..")):
            os.symlink(target, os.path.join(self.inside, name))
            for op in ("read", "write", "list_files"):
                self.refused(STAY, op, {"name": "s", "path": name})
        os.symlink(self.outside, self.inside + "/dir")
        for op in ("read", "write"):
            self.refused(STAY, op, {"name": "s", "path": "dir/secret"})
            self.refused(STAY, op, {"name": "s", "path": "dir/new/file"})
        self.untouched()

    def test_an_absolute_link_is_refused_even_if_it_stays_inside(self):
        """Inside a sandbox the same link points to another file than on the host."""
        os.symlink(self.inside + "/SKILL.md", self.inside + "/link")
        self.refused(STAY, "read", {"name": "s", "path": "link"})

    def test_dangling_and_looping_links(self):
        os.symlink("nowhere", self.inside + "/dangling")
        os.symlink("loop", self.inside + "/loop")
        self.refused("Skill file not found: dangling", "read", {"name": "s", "path": "dangling"})
        self.refused("Skill file not found: loop", "read", {"name": "s", "path": "loop"})
        self.refused("Skill file loop cannot be written: Too many levels of symbolic links", "write",
                     {"name": "s", "path": "loop"})
        self.ok("write", {"name": "s", "path": "dangling", "content": "made"})
        self.assertEqual(self.tree()["s/nowhere"], b"made")

    def test_an_entry_that_is_a_link(self):
        """If SKILL.md is a link, the directory is no package, and the worker must not read the target of the link."""
        for name, target in (("a", self.outside + "/secret"), ("b", "../s/SKILL.md"), ("c", "/dev/zero")):
            os.makedirs(os.path.join(self.store, name))
            os.symlink(target, os.path.join(self.store, name, "SKILL.md"))
        self.assertEqual(self.names(), ["s"])
        self.refused(f"No SKILL.md found in {self.store}/a or its subdirectories (max depth: 2)", "scan",
                     {"path": self.store + "/a"})
        self.create("a", instructions="ours")
        self.assertEqual(self.tree()["a/SKILL.md"], b"---\nname: a\n---\n\nours")
        self.untouched()

    def test_listings_show_links_and_not_what_is_outside(self):
        os.symlink(self.outside + "/secret", self.inside + "/out")
        os.symlink(self.outside, self.inside + "/outdir")
        got = {e["name"]: (e["is_dir"], e["size"]) for e in self.ok("list_files", {"name": "s"})["entries"]}
        self.assertEqual(got, {"SKILL.md": (False, len("---\nname: s\n---\ntext")),
                               "out": (False, len(self.outside + "/secret")), "outdir": (False, len(self.outside))})

    def test_a_hard_linked_file_is_not_written(self):
        os.link(self.outside + "/secret", self.inside + "/hard")
        self.ok("write", {"name": "s", "path": "hard", "content": "new"})
        self.assertEqual(self.tree()["s/hard"], b"new")
        os.unlink(self.inside + "/SKILL.md")
        self.put("secret", SKILL, store=self.outside)
        self.before = self.tree(self.outside)
        os.link(self.outside + "/secret", self.inside + "/SKILL.md")
        self.ok("update", {"name": "s", "skill": {"instructions": "new"}})
        self.untouched()

    def test_links_in_the_path_of_the_store(self):
        shutil.rmtree(self.store)
        os.symlink(self.outside, self.store)
        got = self.worker().ask("list")
        self.assertEqual((got["ok"], got["class"]), (False, "OSError"))
        os.unlink(self.store)
        os.rmdir(self.root + "/tenants")
        os.symlink(self.outside, self.root + "/tenants")
        self.assertFalse(self.worker().ask("create", {"skill": {"name": "x"}})["ok"])
        self.untouched()


class Kinds(HostileTest):
    def test_a_fifo_does_not_block_the_worker(self):
        os.mkfifo(self.inside + "/fifo")
        os.makedirs(self.store + "/f")
        os.mkfifo(self.store + "/f/SKILL.md")
        self.assertEqual(self.names(), ["s"])
        self.refused("Skill file not found: fifo", "read", {"name": "s", "path": "fifo"})
        self.refused("Skill directory not found: fifo", "list_files", {"name": "s", "path": "fifo"})
        self.ok("write", {"name": "s", "path": "fifo", "content": "a file now"})
        self.assertEqual(self.ok("read", {"name": "s", "path": "fifo"})["content"], "a file now")
        self.ok("delete", {"name": "s"})

    def test_sockets_and_devices(self):
        place = socket.socket(socket.AF_UNIX)
        self.addCleanup(place.close)
        here = os.open(self.inside, os.O_RDONLY)
        self.addCleanup(os.close, here)
        place.bind(f"/proc/self/fd/{here}/socket")
        self.refused("Skill file not found: socket", "read", {"name": "s", "path": "socket"})
        if MODE == "root":
            os.mknod(self.inside + "/zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
            self.refused("Skill file not found: zero", "read", {"name": "s", "path": "zero"})
        self.ok("delete", {"name": "s"})
        self.assertEqual(self.tree(), {})

    def test_modes_that_keep_the_owner_out(self):
        self.put("s/locked/file")
        os.chmod(self.inside + "/locked", 0)
        self.put("s/unreadable")
        os.chmod(self.inside + "/unreadable", 0)
        if MODE != "root":
            self.refused("Skill file unreadable cannot be read: Permission denied", "read",
                         {"name": "s", "path": "unreadable"})
        self.ok("delete", {"name": "s"})
        self.assertEqual(self.tree(), {})


class Swaps(HostileTest):
    """While the worker works, a thread of the test keeps swapping a directory for a link to the outside, or moving a
    directory out and back, as a process in a sandbox could."""

    ROUNDS = 1500

    def setUp(self):
        super().setUp()
        self.put("s/dir/file", "inside")
        self.stop = threading.Event()

    def beside(self, step):
        """Calls STEP again and again in a thread, until the test ends."""
        def loop():
            while not self.stop.is_set():
                step()

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.stop.set)

    def swap(self, path, target):
        """Until the test ends, a thread keeps exchanging the directory PATH and a link to TARGET."""
        link, libc = path + ".link", ctypes.CDLL(None)
        os.symlink(target, link)
        self.beside(lambda: libc.renameat2(-100, os.fsencode(path), -100, os.fsencode(link), RENAME_EXCHANGE))

    def test_reading_and_writing(self):
        self.swap(self.inside + "/dir", self.outside + "/dir")
        seen = set()
        for _ in range(self.ROUNDS):
            got = self.worker().ask("read", {"name": "s", "path": "dir/file"})
            seen.add(got["data"]["content"] if got["ok"] else got["text"])
            self.worker().ask("write", {"name": "s", "path": "dir/file", "content": "inside"})
            got = self.worker().ask("list_files", {"name": "s", "path": "dir"})
            if got["ok"]:
                self.assertNotIn("secret", [e["name"] for e in got["data"]["entries"]])
        self.assertNotIn("secret", seen)
        self.assertIn("inside", seen)
        self.assertGreater(len(seen), 1)  # the worker has met the directory and the link
        self.untouched()

    def test_packages_that_become_links(self):
        """The package itself becomes a link while the worker lists, updates and writes."""
        self.put("dir/SKILL.md", b"---\nname: stolen\n---\n", store=self.outside)
        self.before = self.tree(self.outside)
        self.put("p/SKILL.md", b"---\nname: p\n---\n")
        self.swap(self.store + "/p", self.outside + "/dir")
        for _ in range(self.ROUNDS // 3):
            for skill in self.ok("list")["skills"]:
                self.assertNotEqual(skill["name"], "stolen")
            self.worker().ask("update", {"name": "p", "skill": {"description": "d"}})
            self.worker().ask("write", {"name": "p", "path": "x/y", "content": "d"})
        self.untouched()

    def test_deleting_while_directories_move(self):
        """A thread moves a directory of the package out and back while the worker deletes the package."""
        moved = self.store + "/other"
        os.mkdir(moved)
        self.put("other/keep", "kept")

        def move():
            for source, target in ((self.inside + "/a/b", moved + "/b"), (moved + "/b", self.inside + "/a/b")):
                try:
                    os.rename(source, target)
                except OSError:
                    pass

        self.beside(move)
        for _ in range(20):
            for number in range(30):
                try:
                    self.put(f"s/a/b/c{number}/d/file")
                except OSError:
                    pass  # the thread has moved the directory
            self.put("s/SKILL.md", SKILL)
            self.assertEqual(self.ok("delete", {"name": "s"}), {"deleted": "s"})
            self.swept()
            self.assertTrue(os.path.exists(moved + "/keep"))
        self.untouched()


class Trees(HostileTest):
    timeout = 180

    def test_a_deep_tree_can_be_deleted(self):
        here = os.open(self.inside, os.O_RDONLY | os.O_DIRECTORY)
        for _ in range(3000):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
        self.assertEqual(self.names(), ["s"])
        self.ok("delete", {"name": "s"})
        self.assertEqual(self.tree(), {})

    def test_a_hundred_thousand_files(self):
        os.mkdir(self.inside + "/many")
        here = os.open(self.inside + "/many", os.O_RDONLY | os.O_DIRECTORY)
        for number in range(100_000):
            os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.close(here)
        self.assertEqual(self.names(), ["s"])  # the worker does not search below a package
        self.refused("Skill directory exceeds the configured entry limit", "list_files", {"name": "s", "path": "many"})
        self.ok("delete", {"name": "s"})
        # the answer does not wait until all files are erased
        self.assertEqual(self.names(), [])
        self.create("next")
        self.swept(within=60)
        self.assertEqual(self.names(), ["next"])

    def test_erased_directories_are_never_listed(self):
        """Erasing moves each directory up into the store. Listings must neither show nor count these directories."""
        for number in range(10_100):
            os.makedirs(f"{self.inside}/d/{number}/x")
        self.ok("delete", {"name": "s"})
        while self.rubbish():
            self.assertEqual(self.names(), [])
        self.assertEqual(self.tree(), {})

    def test_a_tree_that_goes_on_growing(self):
        """A thread of the test writes to the package while the worker erases it, as a process could in a sandbox that
        still has the package mounted. The worker answers requests meanwhile. When the thread has stopped, the worker
        erases the rest."""
        stop, here = threading.Event(), os.open(self.inside, os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, here)

        def write():
            number = 0
            while not stop.is_set():
                number += 1
                try:
                    os.close(os.open(f"f{number % 50}", os.O_CREAT | os.O_WRONLY, dir_fd=here))
                except OSError:
                    return  # the worker has erased the directory

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        self.ok("delete", {"name": "s"})
        for number in range(50):
            self.assertEqual(self.create(f"n{number}")["name"], f"n{number}")
        stop.set()
        thread.join()
        self.create("last")
        self.swept()


class Killed(HostileTest):
    """Tests how workers end, for example killed by a server at a deadline, and what happens to the directories that
    they leave."""

    timeout = 120

    def test_a_worker_killed_at_any_instant_of_an_installation(self):
        files = {f"f{number}": os.urandom(100_000) for number in range(60)}
        archive = Archive({"SKILL.md": b"---\nname: kit\n---\n", **files})
        fd, chance = archive.file(self), random.Random(4)
        for _ in range(25):
            worker = Worker(self, self.root)
            worker.send({"op": "install_zip", "tenant": TENANT, "data": {"filename": "kit.zip"}}, fd)
            threading.Event().wait(chance.random() * 0.15)
            worker.process.kill()
            worker.process.wait()
            names = self.names()
            self.assertIn(names, (["s"], ["kit", "s"]))
            if "kit" in names:
                self.assertEqual(len(os.listdir(self.store + "/kit-upload")), 61)
                self.ok("delete", {"name": "kit"})
        self.create("last")
        self.swept()  # unfinished directories are gone, too
        self.assertEqual(sorted(os.listdir(self.store)), ["last", "s"])

    def test_directories_of_another_worker_stay(self):
        """Two servers may share a root. A worker locks the directories that it is making, and no other worker may erase
        a locked directory."""
        made, left = (os.path.join(self.store, ".cordon-new-" + name) for name in ("made", "left"))
        for path in (made, left):
            os.mkdir(path)
        fd = os.open(made, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        fcntl.flock(fd, fcntl.LOCK_EX)
        self.create("x")
        self.eventually(lambda: not os.path.exists(left))
        self.assertTrue(os.path.exists(made))

    def test_the_worker_ends_with_its_owner(self):
        worker = Worker(self, self.root)
        self.assertEqual(worker.end(), 0)


class Owners(HostileTest):
    modes = ("root",)

    def test_new_files_belong_to_the_owner_of_the_directory(self):
        os.chown(self.inside, 4321, 4322)
        os.chown(self.store, 1234, 1235)
        self.ok("write", {"name": "s", "path": "new/file"})
        self.ok("update", {"name": "s", "skill": {"description": "d"}})
        self.create("made")
        for path, owner in (("s/new", (4321, 4322)), ("s/new/file", (4321, 4322)), ("s/SKILL.md", (4321, 4322)),
                            ("made", (1234, 1235)), ("made/SKILL.md", (1234, 1235))):
            st = os.stat(os.path.join(self.store, path))
            self.assertEqual((st.st_uid, st.st_gid), owner, path)


class Walls(HostileTest):
    """Tests the privileges and limits of a running worker. tests/security/test_siege.Hijacked attacks from inside a
    worker."""

    modes = ("root", "user", "bare", "userns", "container")

    def test_the_worker_keeps_three_capabilities_at_most(self):
        p = Process(self.worker().process.pid)
        kept = {key: int(p.status(key)[0], 16) for key in ("CapEff", "CapPrm", "CapInh", "CapAmb")}
        most = 0 if MODE in ("user", "bare") else CHOWN | DAC_OVERRIDE | FOWNER
        self.assertEqual(kept, {"CapEff": most, "CapPrm": most, "CapInh": 0, "CapAmb": 0})
        self.assertEqual(p.status("NoNewPrivs"), ["1"])
        if "ASAN_OPTIONS" not in os.environ:  # a build with sanitizers has no filter
            self.assertEqual(p.status("Seccomp"), ["2"])

    def test_resource_limits_of_the_worker(self):
        pid = self.worker().process.pid
        with open(f"/proc/{pid}/limits") as handle:
            limits = {line[:26].strip(): line[26:].split()[:2] for line in handle}
        self.assertEqual(limits["Max core file size"], ["1", "1"])
        self.assertEqual(limits["Max file size"], [str(16 << 20)] * 2)
        if "ASAN_OPTIONS" not in os.environ:  # a sanitizer's memory is larger than any limit
            self.assertEqual(limits["Max data size"], [str(384 << 20)] * 2)
        self.assertEqual(limits["Max open files"], ["32", "32"])

    test_resource_limits_of_the_worker.modes = ("root", "user")

    def test_memory_is_bounded(self):
        """A request with very many values gets an answer, or ends this one worker. The next request must work."""
        worker = Worker(self, self.root)
        try:
            worker.send(b'{"op":"list","data":{"x":[' + b"0," * (8 << 20) + b"0]}}")
            got = worker.receive()
        except (BrokenPipeError, ConnectionResetError):
            got = None
        self.assertIn(got and got["ok"], (None, False, True), got)
        self.assertEqual(self.names(), ["s"])


class Nonsense(HostileTest):
    def ended(self, worker):
        self.assertIsNone(worker.receive())
        self.assertEqual(worker.process.wait(ANSWER_SECONDS), 1)

    def test_bad_requests_are_refused(self):
        worker = self.worker()
        for body in (b"x", b"[]", b"{}", b'{"op":"list"}', b'{"op":5,"data":{}}', b'{"op":"list","data":[]}',
                     b'{"op":"nothing","data":{}}', b'{"op":"list","data":{},"more":1}', b'{"op":"list","data":{}}}',
                     b"[" * 100000, b'{"op":"list","tenant":7,"data":{}}', b"\xff" * 1000):
            worker.send(body)
            got = worker.receive()
            self.assertEqual((got["ok"], got["class"]), (False, "BoxValidationError"), body[:40])
        self.assertEqual(self.names(), ["s"])

    def test_bad_lengths_end_the_worker(self):
        for head in (0, (17 << 20) + 1, 0xFFFFFFFF):
            worker = Worker(self, self.root)
            worker.socket.sendall(struct.pack("<I", head) + b"{}")
            self.ended(worker)

    def test_a_partial_request_ends_the_worker(self):
        for piece in (b"\x10", b"\x10\0\0\0", b"\x10\0\0\0{"):
            worker = Worker(self, self.root)
            worker.socket.sendall(piece)
            self.assertEqual(worker.end(), 0)

    def test_a_request_that_comes_byte_by_byte(self):
        worker = self.worker()
        body = json.dumps({"op": "list", "tenant": TENANT, "data": {}}).encode()
        for byte in struct.pack("<I", len(body)) + body:
            worker.socket.sendall(bytes([byte]))
        self.assertEqual(worker.receive()["data"]["skills"][0]["name"], "s")

    def test_unexpected_descriptors(self):
        fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(3)]
        for fd in fds:
            self.addCleanup(os.close, fd)
        for _ in range(100):  # more descriptors than the worker may have open
            self.ok("list", file=fds[0])
        self.refused("no uploaded file came with the request", "preview_zip", {"filename": "x"}, file=fds[0])
        worker = Worker(self, self.root)
        try:
            worker.send({"op": "list", "data": {}}, *fds)
        except BrokenPipeError:
            pass  # the worker ended after the first bytes
        self.ended(worker)

    def test_a_root_that_cannot_be_opened(self):
        self.put("file", store=self.dir)
        worker = Worker(self, self.dir + "/file/x")
        self.assertEqual(worker.hello, {"ok": False, "class": "OSError", "text":
                         f"open the skills root '{self.dir}/file/x': Not a directory"})
        self.assertEqual(worker.process.wait(ANSWER_SECONDS), 1)

    def test_a_root_that_goes_away(self):
        self.assertEqual(self.names(), ["s"])
        shutil.rmtree(self.root)
        self.assertEqual(self.worker().ask("list"), {"again": "root"})
        self.workers.clear()
        self.assertEqual(self.names(), [])

    def test_a_file_system_that_is_full(self):
        """The file size limit acts like a full disk. No half-written file may be left."""
        worker = self.worker()
        resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE, (50_000, 16 << 20))
        before = self.tree()
        for op, data in (("write", {"name": "s", "path": "new/file", "content": "x" * 60_000}),
                         ("create", {"skill": {"name": "n", "instructions": "x" * 60_000}})):
            got = worker.ask(op, data)
            self.assertIn("File too large", got["text"])
        got = worker.ask("install_zip", {"filename": "kit.zip"},
                         file=Archive({"SKILL.md": SKILL, "f": os.urandom(60_000)}).file(self))
        self.assertEqual(got["text"], "Archive entry cannot be written: f: File too large")
        self.assertEqual({k: v for k, v in self.tree().items() if k != "s/new"}, before)

    test_a_file_system_that_is_full.modes = ("root",)

    def test_sigterm_ends_the_worker(self):
        self.names()
        self.worker().process.send_signal(signal.SIGTERM)
        self.assertEqual(self.worker().process.wait(ANSWER_SECONDS), -signal.SIGTERM)
