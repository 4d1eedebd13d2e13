"""Tests the life of a sandbox: create, run, start, stop, list and inspect, timers."""

import hashlib
import json
import os
import re
import time

from harness import ALL_MODES, COMMAND_SECONDS, CORDON, MODE, MSB, ONE_ID, CordonTest, unique_number

# a grace that is longer than any command of the tests may take
PATIENT = {"MSB_SHUTDOWN_FLUSH_TIMEOUT_MS": str(2 * COMMAND_SECONDS * 1000)}


class Create(CordonTest):
    modes = ALL_MODES

    def test_ready_when_it_returns(self):
        box = self.create()
        self.assertEqual(box.exec("echo", "ready").text, "ready\n")

    def test_create_with_a_name_and_quiet_prints_nothing(self):
        box = self.box()
        got = self.cordon("create", "--quiet", "--name", box.name, "host")
        self.assertEqual((got.code, got.out, got.err), (0, b"", b""))

    def test_completion_line_is_on_stderr(self):
        got = self.cordon("create", "--name", "lined", "host")
        self.assertEqual((got.code, got.out), (0, b""), got)
        self.assertRegex(got.errtext, r"(?m)^   ✓ Created      lined( \(\d+\.\ds\))?$")

    def test_generated_name_on_stdout_even_when_quiet(self):
        got = self.cordon("create", "--quiet", "host")
        self.assertEqual((got.code, got.err), (0, b""), got)
        self.assertRegex(got.text, r"^msb-[0-9a-f]{8}\n$")
        self.assertEqual(self.names(), [got.text.strip()])

    def test_a_taken_name_is_refused(self):
        box = self.create()
        got = self.cordon("create", "--name", box.name, "host")
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertRegex(got.errtext, r"^error: sandbox already exists: .*already exists")
        self.assertEqual(box.exec("true").code, 0)

    def test_the_name_of_a_stopped_sandbox_is_refused(self):
        box = self.create()
        box.stop()
        got = self.cordon("create", "--name", box.name, "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("already exists", got.errtext)

    def test_failed_create_leaves_nothing_and_the_name_is_free(self):
        for opts, image in ((("-v", "/no/such/source:/mnt"), "host"), ((), "/no/such/root"),
                            (("--workdir", "relative"), "host"), (("-u", "no-such-user"), "host")):
            box = self.box()
            got = self.cordon("create", "--quiet", "--name", box.name, *opts, image)
            if got.code == 0:
                continue
            self.assertEqual((got.code, got.out), (1, b""), got)
            self.assertRegex(got.errtext, r"^error: ")
            self.assertEqual(self.names(), [])
            self.assertEqual(self.left_running(), [])
            self.assertEqual(os.listdir(os.path.join(self.home, "sandboxes"))
                             if os.path.isdir(os.path.join(self.home, "sandboxes")) else [], [])

    def test_name_with_every_legal_character_and_length(self):
        for name in ("a", "0", "A.b_c-9", "x" * 128):
            box = self.create(name=name)
            self.assertEqual(box.exec("true").code, 0)
            self.assertEqual(box.remove("-f").code, 0)

    def test_hostname_follows_the_name(self):
        self.assertEqual(self.create(name="web-1").out("hostname"), "web-1")

    def test_hostname_of_a_long_name_is_cut_and_hashed(self):
        name = "n" * 100
        wanted = name[:55] + "-" + hashlib.sha256(name.encode()).hexdigest()[:8]
        self.assertEqual(self.create(name=name).out("hostname"), wanted)

    def test_hostname_option(self):
        box = self.create("--hostname", "chosen")
        self.assertEqual(box.out("hostname; cat /etc/hostname"), "chosen\nchosen")
        self.assertIn("chosen", box.out("cat /etc/hosts"))

    def test_loopback_is_up(self):
        box = self.create()
        self.assertEqual(box.out("cat /sys/class/net/lo/operstate 2>/dev/null || echo unknown"),
                         "unknown")
        script = ("import socket; s=socket.create_server(('127.0.0.1',0)); "
                  "c=socket.create_connection(s.getsockname()); print('connected')")
        self.assertEqual(box.exec("/usr/bin/python3", "-c", script).text, "connected\n")

    def test_no_net_both_spellings(self):
        for flag in ("--no-net", "--no-network"):
            self.assertEqual(self.create(flag).exec("true").code, 0)

    def test_msb_is_the_same_program(self):
        got = self.cordon("--version", program=MSB)
        self.assertEqual((got.code, got.text), (0, "msb 0.6.18\n"), got)
        box = self.box()
        self.assertEqual(self.cordon("create", "-q", "-n", box.name, "host", program=MSB).code, 0)
        self.assertEqual(self.cordon("exec", box.name, "--", "echo", "x", program=MSB).text, "x\n")


class Replace(CordonTest):
    def test_replace_swaps_a_running_sandbox_for_a_fresh_one(self):
        box, number = self.create(), unique_number()
        box.out(f"echo old > /old; sleep {number} > /dev/null 2>&1 &")
        self.create("--replace", name=box.name)
        self.assertEqual(box.sh("cat /old").code, 1)
        self.assertEqual(self.sleepers(number), [])
        self.assertEqual(self.names(), [box.name])

    def test_replace_of_a_missing_sandbox_creates_one(self):
        self.create("--replace", name="fresh")

    def test_replace_of_a_stopped_sandbox(self):
        box = self.create()
        box.stop()
        self.create("--replace", name=box.name)
        self.assertEqual(box.status(), "Running")

    def test_replace_with_timeout_zero_kills_at_once(self):
        box, number = self.create(env=PATIENT), unique_number()
        box.out(f"(trap '' TERM; sleep {number}) > /dev/null 2>&1 &")
        self.create("--replace-with-timeout", "0", name=box.name, env=PATIENT)
        self.assertEqual(self.sleepers(number), [])

    def test_a_grace_of_days_is_cut_to_one_day(self):
        box = self.create("--log-level", "info")
        box.out("(trap '' TERM; mkdir /root/deaf; while :; do sleep 1000; done) > /dev/null 2>&1 & "
                "until [ -d /root/deaf ]; do :; done")
        proc = self.spawn("create", "-q", "--replace-with-timeout", "2d", "-n", box.name, "host")
        with open(os.path.join(self.home, "sandboxes", box.name, "logs", "runtime.log"), encoding="utf-8") as log:
            said = self.eventually(lambda: [line for line in log if "stopping within" in line])
        self.assertIn(f"within {24 * 3600 * 1000} ms", said[0])
        self.assertEqual(box.stop("-f").code, 0)
        self.assertEqual(proc.wait(30), 0)

    def test_a_replace_with_bad_options_keeps_the_old_sandbox(self):
        box = self.create()
        box.out("echo precious > /root/file")
        got = self.cordon("create", "--replace", "--name", box.name, "-v", "/no/such:/mnt", "host")
        self.assertEqual(got.code, 1, got)
        self.assertEqual(box.out("cat /root/file"), "precious")


class Run(CordonTest):
    def test_status_output_and_nothing_left(self):
        got = self.cordon("run", "host", "--", "sh", "-c", "echo out; echo err >&2; exit 42")
        self.assertEqual((got.code, got.out), (42, b"out\n"), got)
        self.assertIn("err\n", got.errtext)
        self.assertEqual(self.names(), [])
        self.eventually(lambda: not self.left_running())

    def test_quiet_adds_nothing_to_stderr(self):
        got = self.cordon("run", "--quiet", "host", "--", "sh", "-c", "echo err >&2")
        self.assertEqual((got.code, got.err), (0, b"err\n"), got)

    def test_a_low_limit_of_open_files(self):
        got = self.cordon("--nofile=64", CORDON, "run", "-q", "host", "--", "sh", "-c", "ulimit -n",
                          program="prlimit")
        self.assertEqual((got.code, got.text), (0, "64\n"), got)

    def test_stdin_is_forwarded(self):
        got = self.cordon("run", "-q", "host", "--", "cat", stdin=b"\0piped\xff")
        self.assertEqual((got.code, got.out), (0, b"\0piped\xff"), got)

    def test_named_run_is_kept_stopped(self):
        box = self.box()
        got = self.cordon("run", "-q", "--name", box.name, "host", "--", "sh", "-c",
                          "echo kept > /root/f")
        self.assertEqual(got.code, 0, got)
        self.assertEqual(box.status(), "Stopped")
        got = self.cordon("run", "-q", "--name", box.name, "host", "--", "cat", "/root/f")
        self.assertEqual((got.code, got.text), (0, "kept\n"), got)

    def test_reuse_ignores_creation_flags_with_one_warning(self):
        box = self.box()
        self.cordon("run", "-q", "--name", box.name, "host", "--", "true")
        got = self.cordon("run", "--name", box.name, "-m", "600M", "host", "--", "true")
        self.assertEqual(got.code, 0, got)
        self.assertEqual(len(re.findall(r"(?m)^warn: ", got.errtext)), 1, got)

    def test_reuse_of_a_running_sandbox_leaves_it_running(self):
        box = self.create()
        got = self.cordon("run", "-q", "--name", box.name, "host", "--", "echo", "in")
        self.assertEqual((got.code, got.text), (0, "in\n"), got)
        self.assertEqual(box.status(), "Running")

    def test_detached_run_prints_the_name_and_stops_with_its_command(self):
        got = self.cordon("run", "-d", "-q", "--name", "bg", "host", "--", "sh", "-c",
                          "mkfifo /root/gate; read x < /root/gate")
        self.assertEqual((got.code, got.text), (0, "bg\n"), got)
        box = self.box("bg")
        self.assertEqual(box.status(), "Running")
        self.eventually(lambda: box.sh("test -p /root/gate").code == 0)
        box.sh("echo > /root/gate")
        self.eventually(lambda: box.status() == "Stopped", within=5)

    def test_unnamed_detached_run_disappears(self):
        got = self.cordon("run", "-d", "-q", "host", "--", "true")
        self.assertEqual(got.code, 0, got)
        self.assertRegex(got.text, r"^msb-[0-9a-f]{8}\n$")
        self.eventually(lambda: self.names() == [])

    def test_entrypoint_option(self):
        got = self.cordon("run", "-q", "--entrypoint", "echo", "host", "--", "a", "b")
        self.assertEqual((got.code, got.text), (0, "a b\n"), got)

    def test_timeout(self):
        number = unique_number()
        got = self.cordon("run", "-q", "--timeout", "1s", "host", "--", "sleep", str(number))
        self.assertEqual(got.code, 124, got)
        self.assertEqual(self.sleepers(number), [])
        self.assertEqual(self.names(), [])

    def test_client_sigkill_during_an_ephemeral_run(self):
        number = unique_number()
        proc = self.spawn("run", "-q", "host", "--", "sleep", str(number))
        self.eventually(lambda: self.sleepers(number))
        proc.kill()
        proc.wait()
        self.eventually(lambda: not self.sleepers(number), within=2)
        self.eventually(lambda: self.names() == [], within=5)

    def test_client_sigterm_during_an_ephemeral_run(self):
        number = unique_number()
        proc = self.spawn("run", "-q", "host", "--", "sleep", str(number))
        self.eventually(lambda: self.sleepers(number))
        proc.terminate()
        self.assertEqual(proc.wait(5), 143)
        self.eventually(lambda: self.names() == [], within=3)

    def test_missing_program_leaves_nothing(self):
        got = self.cordon("run", "-q", "host", "--", "/no/such")
        self.assertEqual(got.code, 127, got)
        self.assertEqual(self.names(), [])


class StartStop(CordonTest):
    modes = ALL_MODES

    def test_stop_twice_is_success(self):
        box = self.create()
        for _ in range(2):
            got = box.stop("--quiet")
            self.assertEqual((got.code, got.out, got.err), (0, b"", b""), got)
        self.assertEqual(box.status(), "Stopped")

    def test_each_command_prints_one_line(self):
        box = self.create()
        for command, verb in (("stop", "Stopped"), ("start", "Started"), ("restart", "Restarted"),
                              ("stop", "Stopped"), ("remove", "Removed")):
            got = self.cordon(command, box.name)
            self.assertEqual((got.code, got.out), (0, b""), got)
            self.assertRegex(got.errtext, rf"(?m)^   ✓ {verb:<12} {box.name}( \(\d+\.\ds\))?$")

    def test_no_process_survives_stop(self):
        box, number = self.create(), unique_number()
        box.out(f"setsid sleep {number} > /dev/null 2>&1 &")
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(self.sleepers(number), [])
        self.eventually(lambda: not box.host_processes(), within=1)

    def test_an_idle_sandbox_stops_at_once(self):
        self.assertEqual(self.create(env=PATIENT).stop().code, 0)

    def test_a_process_that_ignores_sigterm_is_killed(self):
        box, number = self.create(), unique_number()
        box.out(f"(trap '' TERM; sleep {number}; sleep {number}) > /dev/null 2>&1 &")
        self.eventually(lambda: self.sleepers(number))
        got = box.stop()
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.sleepers(number), [])

    def test_processes_get_sigterm_first(self):
        box = self.create()
        box.out("(trap 'echo asked > /root/asked; exit' TERM; echo up > /root/up; "
                "while :; do sleep 0.05; done) > /dev/null 2>&1 &")
        self.eventually(lambda: box.sh("test -e /root/up").code == 0)
        self.assertEqual(box.stop().code, 0)
        box.start()
        self.assertEqual(box.out("cat /root/asked"), "asked")

    def test_a_variable_sets_the_default_grace(self):
        """MSB_SHUTDOWN_FLUSH_TIMEOUT_MS has an effect if it is set for the command that stops the sandbox, or for the
        command that started the sandbox. The option -t of `stop` overrides the variable."""
        two = ("-t", "2")  # two seconds are also the default
        for started, stopped, opts, asked in ((None, None, (), True), (None, "0", (), False),
                                              ("0", None, (), False), ("0", None, two, True),
                                              (None, "0", two, True)):
            box = self.create(env={"MSB_SHUTDOWN_FLUSH_TIMEOUT_MS": started})
            box.out("setsid -f sh -c 'trap \"touch /root/asked; exit\" TERM; touch /root/up; "
                    "while :; do sleep 0.05; done' > /dev/null 2>&1")
            box.out("until [ -e /root/up ]; do sleep 0.02; done")
            got = self.cordon("stop", *opts, box.name,
                              env={"MSB_SHUTDOWN_FLUSH_TIMEOUT_MS": stopped})
            self.assertEqual(got.code, 0, got)
            self.assertEqual(box.status(), "Stopped")
            self.assertEqual(box.exec("test", "-e", "/root/asked").code == 0, asked)

    def test_force_and_timeout_zero_do_not_wait(self):
        for opts in (("--force",), ("-t", "0")):
            box, number = self.create(env=PATIENT), unique_number()
            box.out(f"(trap '' TERM; sleep {number}) > /dev/null 2>&1 &")
            got = self.cordon("stop", *opts, box.name, env=PATIENT)
            self.assertEqual(got.code, 0, got)

    def test_stop_loses_no_written_data(self):
        box = self.create()
        box.out("seq 1 100000 > /root/data")
        box.stop()
        box.start()
        self.assertEqual(box.out("wc -l < /root/data; tail -1 /root/data"), "100000\n100000")

    def test_stop_during_an_exec_ends_the_exec(self):
        box, number = self.create(), unique_number()
        proc = box.popen("sleep", str(number))
        self.eventually(lambda: self.sleepers(number))
        self.assertEqual(box.stop("-f").code, 0)
        self.assertNotEqual(proc.wait(5), 0)

    def test_start_of_a_running_sandbox_is_status_1(self):
        got = self.create().start()
        self.assertEqual(got.code, 1, got)
        self.assertIn("running", got.errtext)

    def test_start_and_restart_of_a_missing_sandbox(self):
        for command in ("start", "restart", "stop", "remove", "ping", "touch"):
            got = self.cordon(command, "nosuch")
            self.assertEqual((got.code, got.out), (1, b""), got)
            self.assertIn("sandbox not found: nosuch", got.errtext)

    def test_quiet_hides_the_text_but_not_the_status(self):
        for command in ("start", "restart", "remove", "ping", "touch"):
            got = self.cordon(command, "--quiet", "nosuch")
            self.assertEqual((got.code, got.out, got.err), (1, b"", b""), got)
        got = self.cordon("stop", "--quiet", "nosuch")
        self.assertEqual((got.code, got.errtext), (1, "error: sandbox not found: nosuch\n"))

    def test_restart(self):
        box, number = self.create(), unique_number()
        box.out(f"echo kept > /root/f; sleep {number} > /dev/null 2>&1 &")
        with self.claiming(box):
            self.assertEqual(self.cordon("restart", "-q", box.name).code, 0)
        self.assertEqual(self.sleepers(number), [])
        self.assertEqual(box.out("cat /root/f"), "kept")
        box.stop()
        with self.claiming(box):
            self.assertEqual(self.cordon("restart", "-q", box.name).code, 0)
        self.assertEqual(box.status(), "Running")

    def test_stop_without_names_or_labels_is_refused(self):
        for command in ("start", "stop", "restart", "remove", "ping", "touch"):
            self.assertEqual(self.cordon(command).code, 2, command)

    def test_one_missing_target_does_not_prevent_the_others(self):
        a, b = self.create(), self.create()
        got = self.cordon("stop", a.name, "nosuch", b.name)
        self.assertEqual(got.code, 1, got)
        self.assertEqual((a.status(), b.status()), ("Stopped", "Stopped"))

    def test_remove_of_a_running_sandbox_needs_force(self):
        box = self.create()
        got = box.remove()
        self.assertEqual(got.code, 1, got)
        self.assertRegex(got.errtext, r"^error: sandbox still running: ")
        self.assertEqual(box.remove("--force").code, 0)
        self.assertEqual(self.names(), [])
        self.assertEqual(box.remove().code, 1)

    def test_a_removed_sandbox_is_gone(self):
        box = self.create()
        box.stop()
        got = box.remove("--quiet")
        self.assertEqual((got.code, got.out, got.err), (0, b"", b""), got)
        self.assertEqual(box.exec("true").code, 1)
        self.create(name=box.name)
        self.assertEqual(box.exec("true").code, 0)


class Persistence(CordonTest):
    def test_files_survive_a_stop_and_tmpfs_does_not(self):
        box = self.create("--env", "A=1", "--label", "k=v", "--workdir", "/usr",
                          "--tmpfs", "/scratch", "--hostname", "same")
        box.out("echo root > /root/f; mkdir -p /new/dir; echo etc >> /etc/hosts.allow; "
                "echo tmp > /scratch/f; ln -s f /root/link; chmod 4711 /root/f")
        box.stop()
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("cat /root/link; tail -1 /etc/hosts.allow; stat -c %a /root/f; "
                                 "ls -d /new/dir; echo $A; pwd; hostname"),
                         "root\netc\n4711\n/new/dir\n1\n/usr\nsame")
        self.assertEqual(box.sh("cat /scratch/f").code, 1)
        self.assertEqual(box.inspect()["config"]["labels"], {"k": "v"})

    def test_deletions_survive(self):
        box = self.create()
        box.out("rm -r /etc/passwd; echo new > /root/x; rm /root/x")
        box.stop()
        box.start()
        self.assertEqual(box.sh("test -e /etc/passwd || test -e /root/x").code, 1)

    def test_ownership_survives(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create()
        box.out("touch /root/f; chown 123:456 /root/f")
        box.stop()
        box.start()
        self.assertEqual(box.out("stat -c %u:%g /root/f"), "123:456")

    def test_five_stops_and_starts_keep_the_files(self):
        box = self.create()
        for i in range(5):
            box.out(f"echo {i} >> /root/f")
            self.assertEqual(box.stop().code, 0)
            self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("wc -l < /root/f"), "5")


def sorted_json(value):
    """Returns VALUE as our programs print JSON: indented by two spaces, with sorted keys."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


class ListStatusInspect(CordonTest):
    """Tests the commands list, status, inspect, ping and touch."""

    def test_an_empty_list(self):
        for args, text in ((("list",), "No sandboxes found."), (("ls",), "No sandboxes found."),
                           (("status",), "No running sandboxes."),
                           (("ps",), "No running sandboxes.")):
            got = self.cordon(*args)
            self.assertEqual((got.code, got.out), (0, b""), got)
            self.assertEqual(got.errtext, text + "\n")
        self.assertEqual(self.cordon("list", "--format", "json").out, b"[]\n")
        self.assertEqual(self.cordon("status", "--format", "json").out, b"[]\n")

    def test_list_table(self):
        a = self.create(name="older")
        self.create(name="a-newer-one")
        a.stop()
        lines = self.cordon("list").text.splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "IMAGE", "STATUS", "CREATED"])
        when = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
        self.assertRegex(lines[1], rf"^a-newer-one    host     running    {when}$")
        self.assertRegex(lines[2], rf"^older          host     stopped    {when}$")
        self.assertEqual(self.names(), ["a-newer-one", "older"])
        self.assertEqual(self.names("--running"), ["a-newer-one"])
        self.assertEqual(self.names("--stopped"), ["older"])
        self.assertEqual(self.names("--stopped", "--running"), ["a-newer-one", "older"])

    def test_list_json(self):
        box = self.create()
        text = self.cordon("list", "--format", "json").text
        rows = json.loads(text)
        self.assertEqual(text, sorted_json(rows))
        self.assertEqual(set(rows[0]), {"created_at", "image", "name", "status"})
        self.assertEqual((rows[0]["name"], rows[0]["image"], rows[0]["status"]),
                         (box.name, "host", "Running"))
        self.assertRegex(rows[0]["created_at"],
                         r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$")

    def test_labels(self):
        a = self.create("--label", "team=x", "--label", "tier=1")
        b = self.create("--label", "team=x")
        c = self.create("--label", "empty")
        self.assertEqual(set(self.names("--label", "team=x")), {a.name, b.name})
        self.assertEqual(self.names("--label", "team=x", "--label", "tier=1"), [a.name])
        self.assertEqual(self.names("--label", "empty"), [c.name])
        self.assertEqual(self.names("--label", "team"), [])
        got = self.cordon("stop", "--label", "team=x", c.name)
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.names("--running"), [])
        got = self.cordon("remove", "--label", "no=body")
        self.assertEqual((got.code, got.errtext),
                         (0, "warn: no sandboxes matched the given labels\n"), got)
        # both the name and the label select the sandbox, but the command handles it only once
        got = self.cordon("stop", a.name, "--label", "tier=1")
        self.assertEqual((got.code, got.errtext), (0, f"   ✓ Stopped      {a.name}\n"), got)

    def test_status(self):
        box = self.create("-c", "1", "-m", "256M") if MODE == "root" else self.create()
        other = self.create()
        other.stop()
        got = self.cordon("status")
        lines = got.text.splitlines()
        self.assertEqual(lines[0].split(),
                         ["NAME", "IMAGE", "COMMAND", "CPUS", "MEM", "STATUS", "PORTS"])
        self.assertEqual(len(lines), 2, got)
        self.assertRegex(lines[1], rf"^{box.name} +host +- +1 / 1 +\d+ MiB / \d+ MiB +running *")
        self.assertEqual(len(self.cordon("status", "-a").text.splitlines()), 3)
        one = self.cordon("status", box.name, "--format", "json").json()
        self.assertEqual(set(one) - {"engine"}, {
            "command", "cpus", "image", "max_cpus", "max_memory_mib", "memory_mib", "name",
            "ports", "status", "thp"})
        self.assertEqual((one["cpus"], one["ports"], one["status"]), (1, [], "Running"))
        self.assertEqual(self.cordon("status", box.name, "-a").code, 2)
        self.assertEqual(self.cordon("status", box.name, "--label", "a=b").code, 2)
        got = self.cordon("status", "nosuch")
        self.assertEqual((got.code, got.errtext), (1, "error: sandbox not found: nosuch\n"))

    def test_inspect_json(self):
        box = self.create("--env", "A=1", "--label", "team=x", "--idle-timeout", "30",
                          "--max-duration", "5m", "--workdir", "/root")
        text = self.cordon("inspect", "--show-env", box.name, "--format", "json").text
        data = json.loads(text)
        self.assertEqual(text, sorted_json(data))
        config = data["config"]
        self.assertEqual(data["name"], box.name)
        self.assertEqual(data["status"], "Running")
        self.assertEqual(data["engine"], "process")
        self.assertEqual(config["engine"], "auto")
        self.assertEqual(data["pending_changes"], [])
        self.assertEqual(config["image"], {"Host": {}})
        self.assertEqual(config["env"], [{"key": "A", "value": "1"}])
        self.assertEqual(config["labels"], {"team": "x"})
        self.assertEqual(config["lifecycle"], {"ephemeral": False, "idle_timeout_secs": 30,
                                               "max_duration_secs": 300})
        self.assertEqual(config["resources"]["cpus"], 1)
        self.assertEqual(config["resources"]["memory_mib"], 512)
        self.assertEqual(config["resources"]["pids_limit"], 1024)
        self.assertEqual(config["runtime"]["workdir"], "/root")
        self.assertEqual(config["security_profile"], "default")
        for key in ("created_at", "updated_at"):
            self.assertRegex(data[key], r"\+00:00$")

    def test_inspect_hides_values_of_the_environment(self):
        box = self.create("--env", "TOKEN=s3cret-1", "--label", "team=x")
        self.assertEqual(self.cordon("modify", box.name, "--env", "TOKEN=s3cret-2", "--next-start").code, 0)
        for opts in ((), ("--format", "json")):
            got = self.cordon("inspect", box.name, *opts)
            self.assertEqual(got.code, 0, got)
            self.assertIn("TOKEN", got.text)
            self.assertNotIn("s3cret", got.text)
            shown = self.cordon("inspect", box.name, "--show-env", *opts)
            self.assertIn("s3cret-1", shown.text)
            self.assertIn("s3cret-2", shown.text)
            msb = self.cordon("inspect", box.name, *opts, program=MSB)
            self.assertIn("s3cret-1", msb.text)
        config = self.cordon("inspect", box.name, "--format", "json").json()["config"]
        self.assertEqual(config["env"], [{"key": "TOKEN", "value": None}])
        self.assertEqual(config["labels"], {"team": "x"})

    def test_ports_are_whole_for_a_pipe_and_cut_for_a_terminal(self):
        box = self.create(*(word for i in range(4) for word in ("-p", f"127.0.0.1:0:{8000 + i}")))
        whole = self.cordon("status", box.name).text.splitlines()[1]
        self.assertEqual(whole.count("->"), 4, whole)
        self.assertRegex(self.cordon("status", box.name, program=MSB).text.splitlines()[1], r"\.\.\.$")
        t = self.terminal("status", box.name)
        t.expect(rb"\.\.\.")
        self.assertEqual(t.wait(), 0)

    def test_metrics_uses_the_words_of_list(self):
        box = self.create()
        box.stop()
        self.assertEqual(self.cordon("metrics", "--all", "--format", "json").json()[0]["state"], "stopped")
        self.assertIn("stopped", self.cordon("list").text)
        self.assertEqual(self.cordon("metrics", "--all", "--format", "json", program=MSB).json()[0]["state"], "exited")

    def test_inspect_text(self):
        box = self.create("--env", "A=1")
        got = self.cordon("inspect", box.name)
        self.assertEqual(got.code, 0, got)
        self.assertRegex(got.text, rf"(?m)^Name: {{11}}{box.name}$")
        self.assertIn("Resources", got.text)
        self.assertIn("A", got.text)

    def test_ping(self):
        box = self.create()
        got = self.cordon("ping", box.name)
        self.assertEqual((got.code, got.out), (0, b""), got)
        self.assertRegex(got.errtext, rf"^   ✓ Reachable    {box.name} \(\d+(ms|us)\)\n$")
        box.stop()
        got = self.cordon("ping", box.name)
        self.assertEqual((got.code, got.errtext), (1, f"error: sandbox '{box.name}' is not running "
                                                   "(status: Stopped); cannot ping\n"), got)
        self.assertEqual(self.cordon("touch", box.name).code, 1)

    def test_broken_stdout_of_list_is_success(self):
        self.create()
        read, write = os.pipe()
        os.close(read)
        proc = self.spawn("list", stdout=write)
        os.close(write)
        self.assertEqual(proc.wait(10), 0)


class Timers(CordonTest):
    modes = ("root", "user")  # timers do not depend on privileges

    def test_max_duration(self):
        box = self.create("--max-duration", "2s")
        box.popen("sleep", "1000")
        self.eventually(lambda: box.status() == "Stopped", within=8)

    def test_a_command_that_max_duration_ended_says_so(self):
        got = self.cordon("run", "--max-duration", "1s", "host", "--", "sleep", "1000")
        self.assertEqual(got.code, 143, got)
        self.assertRegex(got.errtext, r"^error: sandbox '.*' has run for its longest time.* --max-duration sets this time\n$")
        box = self.create("--max-duration", "1s")
        got = box.exec("sleep", "1000")
        self.assertRegex(got.errtext, r"^error: sandbox '.*' has run for its longest time \(1 s\) and was stopped")

    def test_max_duration_is_armed_again_by_start(self):
        box = self.create("--max-duration", "2s")
        self.eventually(lambda: box.status() == "Stopped", within=8)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.status(), "Running")
        self.eventually(lambda: box.status() == "Stopped", within=8)

    def test_idle_timeout(self):
        box = self.create("--idle-timeout", "2s")
        number = unique_number()
        box.out(f"sleep {number} > /dev/null 2>&1 &")  # background processes do not count as activity
        self.eventually(lambda: box.status() == "Stopped", within=8)

    def test_a_quiet_running_exec_counts_as_activity(self):
        box = self.create("--idle-timeout", "1s")
        got = box.sh("sleep 3.5; echo survived")
        self.assertEqual((got.code, got.text), (0, "survived\n"), got)
        self.assertEqual(box.status(), "Running")
        self.eventually(lambda: box.status() == "Stopped", within=6)

    def test_touch_resets_and_ping_does_not(self):
        kept, left = self.create("--idle-timeout", "3s"), self.create("--idle-timeout", "3s")
        end = time.monotonic() + 6
        while time.monotonic() < end and left.status() == "Running":
            self.assertEqual(self.cordon("touch", "-q", kept.name).code, 0)
            self.cordon("ping", "-q", left.name)
            time.sleep(0.3)
        self.assertEqual(left.status(), "Stopped")
        self.assertEqual(kept.status(), "Running")

    def test_a_timer_of_zero_is_off(self):
        box = self.create("--idle-timeout", "0", "--max-duration", "0")
        lifecycle = box.inspect()["config"]["lifecycle"]
        self.assertFalse(lifecycle["idle_timeout_secs"])
        self.assertFalse(lifecycle["max_duration_secs"])
