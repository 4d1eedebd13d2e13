"""Tests client/hands, client/line and client/job with the server in server.c. Hands of this server make the sandboxes,
and the server runs commands in them.

The server counts the handlers of its loop that blocked. At its end it reports the number, which must be 0.
"""

import fcntl
import math
import os
import random
import resource
import signal
import stat
import subprocess
import time

from harness import (MODE, PREFIX, CordonTest, Reader, all_processes, below, groups_of, kill_quietly, limits_of,
                     unique_number)

PROGRAM = os.path.join(PREFIX, "libexec", "cordon", "test-server")


class Server:
    """A running server. The process that the test started is the foreman."""

    def __init__(self, test, *refused, **popen):
        self.test = test
        self.proc = test.spawn(*refused, program=PROGRAM, stdin=subprocess.PIPE, **popen)
        self.out, self.err = Reader(self.proc.stdout), Reader(self.proc.stderr)

    def say(self, *lines):
        self.proc.stdin.write("".join(line + "\n" for line in lines).encode())
        self.proc.stdin.flush()

    def lines(self):
        return self.out.data.decode().splitlines()

    def expect(self, *wanted, within=30):
        """Waits until the server has printed every line of WANTED. If a line of WANTED ends with "…", only the part
        before "…" must match."""
        def missing():
            lines = self.lines()
            return [w for w in wanted if not any(line == w or (w.endswith("…") and line.startswith(w[:-1]))
                                                 for line in lines)]

        self.test.eventually(lambda: not missing(), within, lambda: f"no {missing()} in {self.lines()} {self.err.data}")

    def answer(self, line, within=30):
        """Sends an order and returns the answer. No other order may be open."""
        before = len(self.lines())
        self.say(line)
        self.test.eventually(lambda: len(self.lines()) > before, within, lambda: f"no answer: {self.err.data}")
        return self.lines()[before]

    def ask(self, line, answer):
        self.test.assertEqual(self.answer(line), answer)

    def processes(self, name):
        """Returns the children of the foreman that have this name."""
        return [p for p in all_processes().values() if p.ppid == self.proc.pid and p.state != "Z"
                and name in (p.comm, *p.cmdline)]

    def hands(self):
        return self.processes("cordon-hand")

    def all_hands(self):
        """Waits until the foreman has started all hands, and returns them."""
        wanted = min(8, 2 * len(os.sched_getaffinity(0)))
        return self.test.eventually(lambda: len(self.hands()) == wanted and self.hands())

    def server(self):
        return self.test.eventually(lambda: self.processes("--serve"))[0]

    def end(self):
        self.proc.stdin.close()
        self.proc.wait(60)
        self.test.assertEqual((self.proc.returncode, self.err.data), (0, b""))
        self.out.join()
        self.test.assertEqual(self.lines()[-1], "blocked 0")


class ServerTest(CordonTest):
    modes = ("root", "user")
    timeout = 120

    def setUp(self):
        super().setUp()
        if not os.path.exists(PROGRAM):
            self.not_run("the server of this test was not built")

    def server(self, *refused, **popen):
        return Server(self, *refused, **popen)

    def directory(self, *parts):
        path = os.path.join(self.dir, *parts)
        os.makedirs(path)
        return path

    def records(self):
        return os.listdir(os.path.join(self.home, "sandboxes"))

    def stopped(self, server, name):
        """Makes the server create a sandbox without a leash, and stops this sandbox."""
        server.ask(f"create {name} stays", f"created {name}")
        got = self.cordon("stop", "-q", name)
        self.assertEqual(got.code, 0, got)
        server.expect(f"gone {name}")

    def lock(self, name):
        """Holds the lock of a stopped sandbox, as another command would."""
        handle = open(os.path.join(self.home, "sandboxes", name, "lock"), "r+")
        fcntl.flock(handle, fcntl.LOCK_EX)
        self.addCleanup(handle.close)
        return handle

    def hand_at(self, server, lock):
        """Returns the hand that waits for LOCK."""
        def holds(p):
            try:
                return any(os.path.samestat(os.stat(f"/proc/{p.pid}/fd/{fd}"), os.fstat(lock.fileno()))
                           for fd in os.listdir(f"/proc/{p.pid}/fd"))
            except OSError:
                return False

        return self.eventually(lambda: [p for p in server.hands() if holds(p)])[0]


class Limits(ServerTest):
    """The server changes the limits of a running sandbox over the sandbox's leash."""

    modes = ("root", "user", "delegated", "session")

    def held(self, name):
        return self.cordon("inspect", name, "--format", "json").json()["limits"]["memory"].startswith("cgroup")

    def test_limits_change_while_the_sandbox_runs(self):
        server = self.server()
        server.ask("create a", "created a")
        if not self.held("a"):
            self.not_run("no cgroup is delegated to this user")
        hungry = ("exec", "a", "--", "python3", "-c", "x = bytearray(300 << 20); print('fits')")
        for memory, code in ((128, 137), (600, 0), (128, 137)):
            server.ask(f"limits a memory:{memory}", "limited a")
            self.assertEqual(self.cordon(*hungry).code, code)
        server.ask("limits a memory:200 cpus:1500 pids:60", "limited a")
        self.assertEqual(limits_of(self.home), {"memory": 200 << 20, "cpus": 1.5, "pids": 60})
        server.ask("limits a pids:70", "limited a")
        self.assertEqual(limits_of(self.home), {"memory": 200 << 20, "cpus": 1.5, "pids": 70})
        server.ask("delete a", "gone a")
        server.end()

    def test_bad_limits_change_nothing(self):
        server = self.server()
        server.ask("create a", "created a")
        before = limits_of(self.home)
        for words in ("memory:300 cpus:5", "memory:300 cpus:255001", "memory:300 pids:4194305",
                      f"pids:9 memory:{1 << 41}"):
            self.assertRegex(server.answer(f"limits a {words}"), "^failed limits a (invalid|unsupported) ")
        self.assertEqual(limits_of(self.home), before)
        server.end()

    def test_memory_in_use_is_not_taken_away(self):
        """Version 1 of cgroups refuses a limit below the memory in use, and this test checks that. Version 2 would kill
        commands instead, so the test does nothing there."""
        server = self.server()
        server.ask("create a", "created a")
        if self.cordon("inspect", "a", "--format", "json").json()["limits"]["memory"] != "cgroup v1":
            return
        before = limits_of(self.home)
        proc = self.spawn("exec", "a", "--", "python3", "-c",
                          "x = bytearray(100 << 20); print('ready', flush=True); input()", stdin=subprocess.PIPE)
        self.assertEqual(proc.stdout.readline(), b"ready\n")
        self.assertRegex(server.answer("limits a memory:8 pids:33 cpus:500"), "^failed limits a unsupported ")
        self.assertEqual(limits_of(self.home), before)
        proc.stdin.close()
        self.assertEqual(proc.wait(10), 1)
        server.end()

    def test_fifty_changes_at_once(self):
        server = self.server()
        server.ask("create a soft", "created a")
        server.say(*(f"limits a pids:{100 + i}" for i in range(50)))
        self.eventually(lambda: server.lines().count("limited a") == 50)
        if self.held("a"):
            self.assertEqual(limits_of(self.home)["pids"], 149)
        server.end()

    def test_limits_without_a_cgroup_are_refused(self):
        server = self.server()
        server.ask("create a", "created a")
        if self.held("a"):
            return
        self.assertRegex(server.answer("limits a memory:300"), "^failed limits a unsupported no control group")
        server.ask("create b soft", "created b")
        server.ask("limits b memory:300 cpus:500 pids:40", "limited b")
        server.end()


class Requests(ServerTest):
    def test_a_sandbox_ends_with_its_leash(self):
        server = self.server()
        server.ask("create a", "created a")
        self.assertEqual(self.cordon("exec", "a", "--", "sh", "-c", "echo here | tee /var/tmp/file").text, "here\n")
        self.assertTrue(os.path.exists(f"{self.home}/sandboxes/a/layers/0/upper/var/tmp/file"))
        server.ask("delete a", "gone a")
        self.assertEqual((self.records(), groups_of(self.home)), ([], set()))
        server.ask("create a", "created a")
        server.end()
        self.eventually(lambda: not self.left_running(), within=3)
        self.assertEqual(self.records(), [])

    def test_a_sweep_deletes_files_of_other_ids(self):
        """The sandbox of a user leaves files that belong to other ids of the user's range. These files stay until the
        server sweeps."""
        server = self.server()
        server.ask("create a", "created a")
        got = self.cordon("exec", "a", "--", "sh", "-c", "mkdir -m 700 /var/tmp/d && touch /var/tmp/d/f && chown -R 7:7 "
                          "/var/tmp/d")
        self.assertEqual(got.code, 0, got)
        server.ask("delete a", "gone a")
        server.ask("sweep", "swept")
        self.assertEqual(self.records(), [])
        server.end()

    def test_a_sandbox_without_a_leash_outlives_the_server(self):
        server = self.server()
        self.stopped(server, "s")
        server.ask("start s", "started s")
        server.ask("start s", "failed start s busy sandbox 's' is in use by another command")
        server.end()
        self.assertEqual(self.cordon("exec", "s", "--", "echo", "here").text, "here\n")

    def test_failures_have_a_code_and_a_message(self):
        server = self.server()
        server.ask("start nobody", "failed start nobody not_found sandbox not found: nobody")
        server.ask("create a", "created a")
        server.ask("create a", "failed create a exists sandbox already exists: 'a' already exists")
        server.ask("create -bad", "failed create -bad invalid config: name: bad name '-bad': it must start with a letter or "
                   "digit")
        server.ask(f"size {self.dir}/none", f"failed size {self.dir}/none not_found '{self.dir}/none': No such file or "
                   "directory")
        server.ask("sweep", "swept")
        server.end()

    def test_sizes(self):
        tree = self.directory("tree", "in")
        for name, size in (("a", 1000), ("in/b", 234), ("in/c", 0)):
            with open(os.path.join(self.dir, "tree", name), "wb") as handle:
                handle.write(bytes(size))
        os.symlink("/usr", os.path.join(tree, "link"))  # the size of this link is 4 bytes
        os.symlink(os.path.join(self.dir, "tree"), os.path.join(self.dir, "named"))
        server = self.server()
        server.ask(f"size {self.dir}/tree", "size 1238 5")
        # counting stops at the first entry beyond the limit
        self.assertEqual(server.answer(f"size {self.dir}/tree entries:2").split()[2], "3")
        self.assertGreater(int(server.answer(f"size {self.dir}/tree bytes:100").split()[1]), 100)
        server.ask(f"size {self.dir}/named",
                   f"failed size {self.dir}/named denied '{self.dir}/named' leads over a symbolic link")
        deep = os.path.join(self.dir, "deep")
        os.makedirs("/".join([deep, *["d"] * 300]))
        server.ask(f"size {deep}", f"failed size {deep} limit '{deep}' has more than 256 directories in each other")
        server.end()

    def test_paths_outside_the_rules_are_refused(self):
        allowed, other, near = self.directory("allowed"), self.directory("other"), self.directory("allowed2")
        self.directory("allowed", "in")
        self.directory("allowed", "secret", "part")
        os.symlink(other, f"{allowed}/out")
        os.symlink(f"{allowed}/secret/part", f"{allowed}/in/link")
        os.symlink(allowed, f"{self.dir}/way")
        server, rules = self.server(), f"root:{self.dir}/way refuse:{self.dir}/way/secret"
        outside = "is in none of the directories that sandboxes may share"
        for source, real, why in ((other, other, outside), (f"{allowed}/out", other, outside), (near, near, outside),
                                  (f"{allowed}/../other", other, outside), ("/", "/", None), (self.dir, self.dir, outside),
                                  (f"{allowed}/secret", f"{allowed}/secret", None),
                                  (f"{allowed}/in/link", f"{allowed}/secret/part", None)):
            for how in ("ro", "rw"):
                server.ask(f"create a {rules} {how}:{source}:/m",
                           f"failed create a denied '{real}' {why or 'cannot be shared with a sandbox'}")
        server.ask(f"create a {rules} rw:{self.dir}/way/in:/m", "created a")
        self.assertEqual(self.cordon("exec", "a", "--", "touch", "/m/file").code, 0)
        self.assertIn("file", os.listdir(f"{allowed}/in"))
        server.end()

    def test_missing_sources_are_made_where_that_is_allowed(self):
        allowed, other = self.directory("allowed"), self.directory("other")
        os.symlink(other, os.path.join(allowed, "out"))
        os.symlink(os.path.join(other, "new"), os.path.join(allowed, "hole"))
        server, rules = self.server(), f"make root:{allowed}"
        server.ask(f"create a {rules} rw:{allowed}/x/y/z:/m", "created a")
        self.assertTrue(stat.S_ISDIR(os.lstat(f"{allowed}/x/y/z").st_mode))
        self.assertEqual(self.cordon("exec", "a", "--", "touch", "/m/file").code, 0)
        self.assertEqual(os.listdir(f"{allowed}/x/y/z"), ["file"])
        server.ask(f"create b {rules} rw:{allowed}/out/new:/m",
                   f"failed create b denied '{other}/new' is in none of the directories that sandboxes may share")
        server.say(f"create c {rules} rw:{allowed}/hole:/m")
        server.expect(f"failed create c system make '{allowed}/hole': …")
        server.say(f"create d {rules} ro:{allowed}/none:/m", f"create e root:{allowed} rw:{allowed}/none:/m")
        server.expect("failed create d not_found …", "failed create e not_found …")
        self.assertEqual((os.listdir(other), sorted(os.listdir(allowed))), ([], ["hole", "out", "x"]))
        server.end()

    def test_what_a_hijacked_server_asks_for(self):
        """A hand must keep to the bounds that the foreman has set, whatever a request contains."""
        secret, tree = self.directory("safe", "secret"), self.directory("root")
        free = self.directory("free")
        self.assertEqual(self.cordon("create", "-q", "-n", "mine", "host").code, 0)
        self.assertEqual(self.cordon("stop", "-q", "mine").code, 0)
        self.assertEqual(self.cordon("volume", "create", "v").code, 0)
        server = self.server(secret)
        refusal = "which cannot be shared with a sandbox"
        for what in ("ro", "rw"):
            server.ask(f"create a {what}:{secret}:/m", f"failed create a denied '{secret}' cannot be shared with a sandbox")
            server.ask(f"create b {what}:{self.dir}/safe:/m",
                       f"failed create b denied '{self.dir}/safe' contains '{secret}', {refusal}")
        server.ask(f"size {secret}", f"failed size {secret} denied '{secret}' cannot be shared with a sandbox")
        for path in (f"{free}/../safe/secret", f"{self.dir}//safe/secret", f"{self.dir}/./safe/secret"):
            server.ask(f"size {path}", f"failed size {path} denied '{path}' is not canonical")
        none = "denied this server may not make such a sandbox"
        for option in ("stays", f"dir:{tree}", "volume:v:/m"):
            with self.subTest(option):
                server.ask(f"create c {option}", f"failed create c {none}")
        server.ask("start mine", "failed start mine denied this server may not start sandboxes of others")
        server.ask(f"create d rw:{free}:/m", "created d")
        server.end()
        self.eventually(lambda: self.records() == ["mine"])

    def test_commands_get_the_limits_of_the_servers_caller(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        server = self.server(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (345, hard)))
        server.ask("create a", "created a")
        self.assertEqual(resource.prlimit(server.server().pid, resource.RLIMIT_NOFILE), (hard, hard))
        self.assertEqual(self.cordon("exec", "a", "--", "sh", "-c", "ulimit -Sn; ulimit -Hn").text, f"345\n{hard}\n")
        server.end()

    def test_neither_descriptors_nor_zombies_accumulate(self):
        """Counts descriptors of server and hands, and unreaped supervisors."""
        server = self.server()
        server.all_hands()
        for i in range(3):
            names = [f"b{n}" for n in range(10)]
            server.say(*(f"create {n}" for n in names))
            self.eventually(lambda: server.lines().count("created b9") == i + 1 and
                            all(server.lines().count(f"created {n}") == i + 1 for n in names), within=60)
            server.say(*(f"delete {n}" for n in names))
            self.eventually(lambda: all(server.lines().count(f"gone {n}") == i + 1 for n in names), within=60)
            self.eventually(lambda: not below([h.pid for h in server.hands()])[len(server.hands()):])
            now = [len(os.listdir(f"/proc/{p.pid}/fd")) for p in [server.server(), *server.hands()]]
            before = now if i == 0 else before
        self.assertEqual(now, before)
        server.end()


class Deadlines(ServerTest):
    def test_a_deadline_ends_a_hand_that_waits_for_a_lock(self):
        server = self.server()
        self.stopped(server, "s")
        lock = self.lock("s")
        before = {h.pid for h in server.all_hands()}
        server.say("start s within:500", "create a")
        server.expect("failed start s timeout it took too long and was given up", "created a")
        # the foreman killed the hand that was too slow
        self.eventually(lambda: len(before - {h.pid for h in server.hands()}) == 1)
        lock.close()
        server.ask("start s", "started s")
        server.end()

    def test_a_deadline_ends_a_request_without_a_free_hand(self):
        server = self.server()
        names = [f"s{i}" for i in range(len(server.all_hands()))]
        for name in names:
            self.stopped(server, name)
        locks = [self.lock(name) for name in names]
        before = {h.pid for h in server.hands()}
        server.say(*(f"start {name}" for name in names))
        for lock in locks:
            self.hand_at(server, lock)
        server.ask("sweep within:100", "failed sweep - timeout too many requests were in front of this one")
        for lock in locks:
            lock.close()
        server.expect(*(f"started {name}" for name in names))
        self.assertEqual({h.pid for h in server.hands()}, before)  # the deadline killed no hand
        server.end()


class Killed(ServerTest):
    def nothing_runs(self):
        self.reap()
        return not self.left_running() and not groups_of(self.home)

    def test_a_killed_hand_fails_one_request(self):
        server = self.server()
        self.stopped(server, "s")
        lock = self.lock("s")
        server.say("start s", "create a")
        hand = self.hand_at(server, lock)
        kill_quietly(hand.pid)
        server.expect("failed start s system a worker process (cordon-hand) ended before it answered", "created a")
        lock.close()
        server.ask("start s", "started s")
        self.assertNotIn(hand.pid, [h.pid for h in server.all_hands()])
        server.end()

    def test_hands_killed_at_any_instant(self):
        """Each kill may make at most one request fail. Sandboxes that were created before a kill must stay usable."""
        chance, server = random.Random(unique_number()), self.server()
        names, kills = [f"b{i}" for i in range(24)], 6
        self.eventually(server.hands)
        server.say(*(f"create {name}" for name in names))
        for _ in range(kills):
            hands = self.eventually(server.hands)
            kill_quietly(chance.choice(hands).pid)
            done = len(server.lines())
            self.eventually(lambda: len(server.lines()) > min(done + chance.randrange(3), len(names) - 1), within=60)
        self.eventually(lambda: len(server.lines()) >= len(names), within=60)
        lost = [line for line in server.lines() if not line.startswith("created ")]
        self.assertLessEqual(len(lost), kills)
        for line in lost:
            self.assertRegex(line, r"^failed create b\d+ system a worker process")
        made = [line.split()[1] for line in server.lines() if line.startswith("created ")]
        for name in made[:3]:
            self.assertEqual(self.cordon("exec", name, "--", "echo", name).text, name + "\n")
        server.say("sweep")
        server.expect("swept")
        self.eventually(lambda: sorted(self.records()) == sorted(made), message=self.records)
        server.say(*(f"delete {name}" for name in made))
        server.expect(*(f"gone {name}" for name in made))
        server.end()

    def test_a_server_without_foreman_ends(self):
        server = self.server()
        server.ask("create a", "created a")
        kill_quietly(server.proc.pid)
        server.proc.wait()
        self.eventually(lambda: b"the foreman ended" in server.err.data)
        self.eventually(self.nothing_runs, within=3, message=self.left_running)

    def test_half_made_sandboxes_end(self):
        """The test stops all hands, requests sandboxes and kills the server. The foreman then ends. When the foreman
        ends, the kernel must kill the hands, although they are stopped."""
        server = self.server()
        for hand in server.all_hands():
            os.kill(hand.pid, signal.SIGSTOP)
        server.say(*(f"create b{i}" for i in range(4)))
        kill_quietly(server.server().pid)
        server.proc.wait(20)
        self.eventually(self.nothing_runs, within=3, message=self.left_running)


class Crowd(ServerTest):
    """Tests many sandboxes with five commands each. A third of the commands is cancelled."""

    commands_each = 5
    boxes_at_once, kills = (100, 5) if MODE == "root" else (20, 6)

    def setUp(self):
        super().setUp()
        self.mark = str(unique_number())
        self.names = [f"b{i}" for i in range(self.boxes_at_once)]

    def started(self):
        server = self.server()
        server.say(*(f"create {name}" for name in self.names))
        return server

    def test_many_commands_at_once(self):
        server = self.started()
        server.expect(*(f"created {name}" for name in self.names), within=90)
        server.say(f"crowd 2 {self.commands_each} {self.mark}")
        server.expect("wrong 0", within=100)
        self.assertEqual(self.sleepers(self.mark), [])  # with EXEC_WHOLE, pid 1 also ends background processes
        server.say(*(f"delete {name}" for name in self.names))
        server.expect(*(f"gone {name}" for name in self.names), within=60)
        self.assertEqual(self.records(), [])
        server.end()

    def test_killed_at_any_instant(self):
        """The test kills the server or the foreman at a random time while sandboxes are made and used. Nothing may
        be left, and the next server must work."""
        chance = random.Random(self.mark)
        whole = math.inf  # seconds from the first order to the end of one round of commands
        for i in range(self.kills):
            server = self.started()
            began = time.monotonic()
            kill_at = began + whole * (1 - chance.random())
            self.eventually(lambda: len(server.lines()) >= len(self.names) or time.monotonic() >= kill_at, within=90)
            if time.monotonic() < kill_at:
                server.say(f"crowd 0 {self.commands_each} {self.mark}")
            # In the first turn, let the whole round of commands end before the kill, to learn how long a round takes.
            if i == 0:
                self.eventually(lambda: len(server.lines()) > len(self.names), within=90)
                whole = time.monotonic() - began
            else:
                time.sleep(max(0, kill_at - time.monotonic()))
            kill_quietly(server.proc.pid if i % 2 else server.server().pid)
            server.proc.wait()
            self.eventually(self.nothing_runs, within=3, message=self.left_running)
        server = self.server()
        server.ask("sweep", "swept")
        self.assertEqual(self.records(), [])
        server.ask("create again", "created again")
        server.end()

    def nothing_runs(self):
        self.reap()
        return not self.left_running() and not groups_of(self.home)
