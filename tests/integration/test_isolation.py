"""Tests what a sandbox cannot see or touch. The tests look from the inside and from the outside."""

import os
import socket

from harness import ALL_MODES, MODE, ONE_ID, CordonTest, unique_number


class Files(CordonTest):
    modes = ALL_MODES

    def test_host_files_are_not_visible(self):
        path = os.path.join(self.dir, "host-only")
        with open(path, "w") as handle:
            handle.write("host only")
        os.chmod(self.dir, 0o755)
        box = self.create()
        self.assertNotEqual(box.exec("cat", path).code, 0)
        self.assertEqual(box.sh(f"ls {self.home}").code, 2)
        self.assertEqual(box.out("ls -A /root; cat /home/* /srv/* /mnt/* 2>/dev/null; true"), "")

    def test_host_image_shows_programs_not_configuration(self):
        """/etc is synthetic: no account, key or service of the host is in it."""
        box = self.create()
        with open("/etc/passwd") as handle:
            host_users = {line.split(":")[0] for line in handle}
        inside = {line.split(":")[0] for line in box.out("cat /etc/passwd").splitlines()}
        self.assertIn("root", inside)
        self.assertFalse({u for u in host_users if u.startswith("cordon-")} & inside)
        self.assertEqual(box.sh("cat /etc/subuid /etc/ssh/*_key /etc/machine-id").text, "")
        for line in box.sh("cat /etc/shadow").text.splitlines():
            self.assertIn(line.split(":")[1], ("*", "!", "!*"), "a password inside")

    def test_host_programs_cannot_be_changed(self):
        box = self.create()
        before = os.stat("/usr/bin/env")
        box.sh("echo bad > /usr/bin/env; rm -f /usr/bin/env; chmod 777 /usr/bin/id; "
               "touch /usr/bin/new-program; mkdir /usr/newdir")
        after = os.stat("/usr/bin/env")
        self.assertEqual((before.st_ino, before.st_mtime_ns, before.st_mode, before.st_size),
                         (after.st_ino, after.st_mtime_ns, after.st_mode, after.st_size))
        self.assertFalse(os.path.exists("/usr/bin/new-program") or os.path.exists("/usr/newdir"))

    def test_two_sandboxes_share_no_files(self):
        a, b = self.create(), self.create()
        a.out("echo secret > /tmp/f; echo secret > /f; echo secret > /dev/shm/f")
        self.assertEqual(b.out("cat /tmp/f /f /dev/shm/f 2>/dev/null; true"), "")

    def test_root_has_no_parent(self):
        box = self.create()
        self.assertEqual(box.out("cd /../../../..; pwd; stat -c %i / /.. | uniq | wc -l"), "/\n1")

    def test_other_users_of_the_host_cannot_read_the_writable_layer(self):
        box = self.create()
        box.out("echo secret > /root/f; chmod 644 /root/f")
        self.assertEqual(os.stat(self.home).st_mode & 0o077, 0)


class Processes(CordonTest):
    modes = ALL_MODES

    def test_host_processes_are_not_visible(self):
        box, number = self.create(), unique_number()
        listing = box.out("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        self.assertNotIn("python3", listing)
        a, b = box, self.create()
        a.out(f"sleep {number} > /dev/null 2>&1 &")
        self.assertNotIn(str(number), b.out("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; true"))

    def test_pid_1_cannot_be_read_or_traced(self):
        if ONE_ID:
            self.not_run("one id only: pid 1 has the payload's id")
        box = self.create()
        for path in ("mem", "environ", "maps", "exe", "cwd", "root", "fd", "auxv", "stack"):
            got = box.sh(f"cat /proc/1/{path} || ls /proc/1/{path}/. || readlink /proc/1/{path}")
            self.assertNotEqual(got.code, 0, f"/proc/1/{path}: {got}")
        self.assertNotEqual(box.sh("echo x > /proc/1/comm").code, 0)

    def test_every_process_is_an_unprivileged_uid_outside(self):
        """If root started the sandbox, pid 1 is unprivileged outside, too."""
        if MODE != "root":
            self.not_run("started by root only")
        box, number = self.create(), unique_number()
        box.out(f"sleep {number} > /dev/null 2>&1 &")
        inside = [p for p in box.host_processes() if len(p.status("NSpid")) > 1]
        self.assertGreaterEqual(len(inside), 2)
        for p in inside:
            self.assertTrue(all(uid >= 65536 for uid in p.uids), f"{p} {p.uids}")
            gids = [int(g) for g in p.status("Gid") + p.status("Groups")]
            self.assertTrue(all(gid >= 65536 for gid in gids), f"{p} {gids}")
    def test_pid_1_and_commands_have_different_ids(self):
        if ONE_ID:
            self.not_run("one id only: pid 1 has the payload's id")
        box, number = self.create(), unique_number()
        box.out(f"sleep {number} > /dev/null 2>&1 &")
        payload, = self.sleepers(number)
        self.assertFalse(set(payload.uids) & set(box.pid1().uids))

    def test_commands_run_in_a_user_namespace_below_pid_1s(self):
        """The other namespaces of a sandbox belong to the user namespace of pid 1, so commands do not own these
        namespaces."""
        if MODE != "root":
            self.not_run("namespaces of others can be compared by root only")
        box, number = self.create(), unique_number()
        box.out(f"sleep {number} > /dev/null 2>&1 &")
        payload, = self.sleepers(number)
        pid1 = box.pid1()

        def ns(pid, kind):
            return os.readlink(f"/proc/{pid}/ns/{kind}")

        self.assertNotEqual(ns(payload.pid, "user"), ns(pid1.pid, "user"))
        for kind in ("mnt", "net", "ipc", "pid", "cgroup", "uts", "user"):
            self.assertNotEqual(ns(payload.pid, kind), ns("self", kind), kind)
        for kind in ("mnt", "net", "ipc", "pid"):
            self.assertEqual(ns(payload.pid, kind), ns(pid1.pid, kind), kind)

    def test_all_execs_share_one_user_namespace(self):
        box = self.create()
        self.assertEqual(box.out("readlink /proc/self/ns/user"),
                         box.out("readlink /proc/self/ns/user"))
        pid = box.out("sleep 1000 > /dev/null 2>&1 & echo $!")
        self.assertEqual(box.sh(f"kill -9 {pid}").code, 0)

    def test_supervisor_is_in_a_session_of_its_own(self):
        box = self.create()
        pid = box.supervisor().pid
        self.assertEqual(os.getsid(pid), pid)

    def test_no_installed_program_is_setuid(self):
        prefix = os.environ["CORDON_TEST_PREFIX"]
        for where, _, files in os.walk(prefix):
            for name in files:
                self.assertEqual(os.lstat(os.path.join(where, name)).st_mode & 0o6000, 0, name)


class Capabilities(CordonTest):
    modes = ALL_MODES

    # the capabilities chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service sys_chroot
    # audit_write setfcap
    DEFAULT = sum(1 << n for n in (0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31))

    def caps(self, box, *opts):
        text = box.out("grep ^Cap /proc/self/status", opts=opts)
        return {line.split()[0].rstrip(":"): int(line.split()[1], 16) for line in text.splitlines()}

    def test_root_inside_has_only_the_default_capabilities(self):
        caps = self.caps(self.create())
        self.assertEqual(hex(caps["CapEff"]), hex(self.DEFAULT))
        self.assertEqual(hex(caps["CapBnd"]), hex(self.DEFAULT))
        self.assertEqual(hex(caps["CapPrm"]), hex(self.DEFAULT))
        self.assertEqual((caps["CapInh"], caps["CapAmb"]), (0, 0))

    def test_another_user_has_no_capabilities(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        caps = self.caps(self.create(), "-u", "1000")
        self.assertEqual((caps["CapEff"], caps["CapPrm"], caps["CapAmb"]), (0, 0, 0))

    def test_restricted_has_no_capabilities_and_no_new_privileges(self):
        box = self.create("--security", "restricted")
        caps = self.caps(box)
        self.assertEqual((caps["CapEff"], caps["CapPrm"], caps["CapBnd"]), (0, 0, 0))
        self.assertEqual(box.out("grep NoNewPrivs /proc/self/status").split(), ["NoNewPrivs:", "1"])
        self.assertEqual(box.inspect()["config"]["security_profile"], "restricted")

    def test_default_allows_setuid_programs(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create()
        self.assertEqual(box.out("grep NoNewPrivs /proc/self/status").split()[1], "0")
        box.out("cp /usr/bin/id /sid; chmod 4755 /sid")
        self.assertEqual(box.out("/sid -u", opts=("-u", "1000")), "0")

    def test_filter_is_on_for_every_command(self):
        box = self.create()
        self.assertEqual(box.out("grep ^Seccomp: /proc/self/status").split()[1], "2")
        term = box.terminal("grep", "^Seccomp:", "/proc/self/status")
        term.expect(r"Seccomp:\s+2")
        term.wait()

    def test_chown_works_inside(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        self.assertEqual(self.create().out("touch /root/f; chown 33:33 /root/f; "
                                           "stat -c %u:%g /root/f"), "33:33")


class Sockets(CordonTest):
    modes = ALL_MODES

    def test_abstract_sockets_of_the_host_are_out_of_reach(self):
        name = f"\0cordon-test-{unique_number()}"
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(name)
        server.listen()
        script = (f"import socket; s=socket.socket(socket.AF_UNIX); "
                  f"s.connect({name!r}); print('connected')")
        got = self.create().exec("/usr/bin/python3", "-c", script)
        self.assertNotEqual(got.code, 0, got)

    def test_tcp_services_of_the_host_are_out_of_reach(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        script = (f"import socket; socket.create_connection({server.getsockname()!r}, 2); "
                  "print('connected')")
        got = self.create("--no-net").exec("/usr/bin/python3", "-c", script)
        self.assertNotEqual(got.code, 0, got)

    def test_control_sockets_are_not_inside(self):
        box = self.create()
        found = box.out("find / -xdev -type s 2>/dev/null; cat /proc/net/unix | awk 'NF>7'")
        self.assertNotIn("cordon", found)
        self.assertNotIn(self.dir, found)

    def test_only_loopback_without_network(self):
        names = self.create("--no-net").out("tail -n +3 /proc/net/dev | cut -d: -f1").split()
        self.assertEqual(names, ["lo"])

    def test_ipc_objects_are_private(self):
        a, b = self.create(), self.create()
        script = ("import ctypes; l=ctypes.CDLL(None, use_errno=True); "
                  "print(l.shmget(0x4711, 4096, {flags}) >= 0)")
        for box, flags, found in ((a, 0o1600, "True\n"), (b, 0o600, "False\n")):
            got = box.exec("/usr/bin/python3", "-c", script.format(flags=flags))
            self.assertEqual(got.text, found, got)


class UidMaps(CordonTest):
    modes = ALL_MODES

    def test_the_map_has_one_id_or_at_least_65535(self):
        lines = self.create().out("cat /proc/self/uid_map").split("\n")
        ids = sum(int(line.split()[2]) for line in lines)
        if ONE_ID:
            self.assertEqual(ids, 1)
        else:
            self.assertGreaterEqual(ids, 65535)  # these ids include `nobody`, which is 65534

    def test_inspect_shows_a_single_id(self):
        if not ONE_ID:
            self.not_run("there is a range of ids here")
        self.assertRegex(self.cordon("inspect", self.create().name).text, r"(?i)one id|single id")

    def test_files_of_the_range_are_removed_with_the_sandbox(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create()
        box.out("mkdir -p /root/d/e; touch /root/d/e/f; chown -R 1234:1234 /root/d; "
                "chmod -R 700 /root/d; chmod 000 /root/d/e")
        self.assertEqual(box.remove("-f").code, 0)

    def test_host_programs_belong_to_nobody_inside(self):
        """Inside, host programs belong to the user `nobody` (65534). There is one exception: programs that the caller
        owns on the host belong to root inside, unless the caller is root of the host."""
        ours = os.stat("/usr/bin/env").st_uid == os.geteuid() and MODE not in ("root", "served")
        self.assertEqual(self.create().out("stat -c %u /usr/bin/env"), "0" if ours else "65534")
