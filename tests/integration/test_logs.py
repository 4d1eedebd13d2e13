"""Tests `logs`: what is captured, how lines are chosen and shown, and `--follow`."""

import base64
import json
import os
import shutil
import signal
import subprocess
import time

from harness import CordonTest, Reader

RECORD_KEYS = ["d", "e", "id", "s", "t"]


class LogsTest(CordonTest):
    def logs(self, box, *opts, **kwargs):
        got = self.cordon("logs", box.name, *opts, **kwargs)
        self.assertEqual((got.code, got.err), (0, b""), got)
        return got

    def records(self, box, *opts):
        return [json.loads(line) for line in self.logs(box, "--json", *opts).text.splitlines()]

    def log_dir(self, box):
        return os.path.join(self.home, "sandboxes", box.name, "logs")

    def write_log(self, box, name, records):
        with open(os.path.join(self.log_dir(box), name), "w") as handle:
            for seconds, text in records:
                handle.write(json.dumps({
                    "d": text, "e": None, "id": 1, "s": "stdout",
                    "t": f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}.000Z"}) + "\n")


class Shown(LogsTest):
    def test_output_of_commands_and_nothing_else(self):
        box = self.create()
        box.sh("echo out; sleep 0.05; echo err >&2")
        got = self.logs(box)
        self.assertEqual(got.text, "out\nerr\n")

    def test_json_records_have_every_key(self):
        box = self.create()
        box.sh("echo one")
        box.sh("echo two >&2")
        text = self.logs(box, "--json").text
        for line in text.splitlines():
            self.assertEqual(list(json.loads(line)), RECORD_KEYS)
        got = [(r["d"], r["e"], r["id"], r["s"]) for r in self.records(box)]
        self.assertEqual(got, [("one\n", None, 1, "stdout"), ("two\n", None, 2, "stderr")])
        for r in self.records(box):
            self.assertRegex(r["t"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_every_byte_value_comes_back(self):
        box = self.create()
        data = bytes(range(256)).replace(b"\x1b", b"")
        box.exec("cat", stdin=data)
        self.assertEqual(self.logs(box).out, data)
        kept = b"".join(base64.b64decode(r["d"]) if r["e"] == "b64" else r["d"].encode()
                        for r in self.records(box))
        self.assertEqual(kept, data)

    def test_markers_are_system_records(self):
        box = self.create()
        box.sh("echo x")
        box.stop()
        self.assertEqual(self.logs(box, "--source", "system").text,
                         "--- sandbox started ---\n--- sandbox stopped ---\n")
        self.assertEqual(self.logs(box, "--source", "all").text,
                         "--- sandbox started ---\nx\n--- sandbox stopped ---\n")

    def test_supervisor_messages_are_system_records(self):
        box = self.create()
        # the supervisor makes the directory after it has answered `create`
        self.eventually(lambda: os.path.isdir(self.log_dir(box)))
        with open(os.path.join(self.log_dir(box), "runtime.log"), "a") as handle:
            handle.write("something odd\n")
        self.assertIn("something odd\n", self.logs(box, "--source", "system").text)
        self.assertNotIn("something odd", self.logs(box).text)
        odd = [r for r in self.records(box, "--source", "system") if "odd" in r["d"]]
        self.assertEqual([(r["id"], r["s"], list(r)) for r in odd],
                         [(None, "system", RECORD_KEYS)])

    def test_survives_stop_and_start(self):
        box = self.create()
        box.sh("echo before")
        box.stop()
        self.assertEqual(self.logs(box).text, "before\n")
        box.start()
        box.sh("echo after")
        self.assertEqual(self.logs(box).text, "before\nafter\n")

    def test_background_output_is_captured_under_its_number(self):
        box = self.create()
        box.sh("(sleep 0.2; echo late) & echo soon")
        self.eventually(lambda: self.logs(box).text == "soon\nlate\n")
        self.assertEqual({r["id"] for r in self.records(box)}, {1})

    def test_terminal_output_is_output(self):
        box = self.create()
        terminal = box.terminal("sh", "-c", "echo typed", opts=("-t",))
        terminal.wait()
        self.eventually(lambda: "typed" in self.logs(box).text)
        self.assertIn("typed", self.logs(box, "--source", "output").text)
        self.assertEqual(self.logs(box, "--source", "stdout,stderr").text, "")

    def test_the_reason_of_a_failed_start_comes_first(self):
        source = os.path.join(self.dir, "source")
        os.mkdir(source)
        box = self.create("-v", source + ":/v")
        box.sh("echo ran")
        box.stop()
        os.rename(source, source + ".away")
        self.assertEqual(box.start().code, 1)
        first = self.records(box)[0]
        self.assertEqual((list(first), first["s"], first["id"], first["e"]),
                         (RECORD_KEYS, "boot-error", None, None))
        why = json.loads(first["d"])
        self.assertEqual(list(why), ["errno", "message", "stage", "t"])
        self.assertIn(source, why["message"])
        self.assertEqual(first["t"], why["t"])
        lines = self.logs(box).text.splitlines()
        self.assertRegex(lines[0], r"^--- boot failed: .*---$")
        self.assertEqual(lines[1:], ["ran"])
        # put the same directory back, because the start would refuse another directory
        os.rename(source + ".away", source)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(self.logs(box).text, "ran\n")

    def test_an_empty_log_shows_nothing(self):
        self.assertEqual(self.logs(self.create()).text, "")


class Chosen(LogsTest):
    def test_sources(self):
        box = self.create()
        box.sh("echo out; echo err >&2")
        self.assertEqual(self.logs(box, "--source", "stdout").text, "out\n")
        self.assertEqual(self.logs(box, "--source", "stderr").text, "err\n")
        self.assertEqual(sorted(self.logs(box, "--source", "stderr,stdout").text.split()),
                         ["err", "out"])
        self.assertEqual(sorted(self.logs(box, "--source", "stderr", "--source", "stdout")
                                .text.split()), ["err", "out"])
        self.assertEqual(self.logs(box, "--source", "net").text, "")

    def test_old_files_are_read_and_sorted_by_time(self):
        box = self.create()
        box.stop()
        self.write_log(box, "exec.log", [(6, "g\n"), (5, "f\n")])
        self.write_log(box, "exec.log.1", [(3, "d\n"), (4, "e\n"), (7, "h\n")])
        self.write_log(box, "exec.log.2", [(2, "c\n"), (1, "b\n")])
        self.write_log(box, "exec.log.3", [(0, "a\n")])
        self.assertEqual(self.logs(box).text, "a\nb\nc\nd\ne\nf\ng\nh\n")
        self.assertEqual(self.logs(box, "--tail", "3").text, "f\ng\nh\n")
        self.assertEqual(self.logs(box, "--tail", "0").text, "")
        self.assertEqual(self.logs(box, "--tail", "99").text, self.logs(box).text)
        self.assertEqual(self.logs(box, "--since", "2026-01-01T00:00:02Z",
                                   "--until", "2026-01-01T01:00:04+01:00").text, "c\nd\n")
        self.assertEqual(self.logs(box, "--grep", "^[a-d]$", "--tail", "2").text, "c\nd\n")

    def test_relative_times(self):
        box = self.create()
        box.sh("echo now")
        self.assertEqual(self.logs(box, "--since", "1h").text, "now\n")
        self.assertEqual(self.logs(box, "--until", "1h").text, "")
        self.assertEqual(self.logs(box, "--since", "2d", "--until", "1d").text, "")

    def test_damaged_lines_are_skipped(self):
        box = self.create()
        box.stop()
        path = os.path.join(self.log_dir(box), "exec.log")
        self.write_log(box, "exec.log", [(1, "good\n")])
        with open(path, "ab") as handle:
            handle.write(b"\0\xff garbage\n{}\n" + b"x" * (3 << 20) + b"\n")
        with open(path, "a") as handle:
            handle.write('{"d":"fine\\n","e":null,"id":1,"s":"stdout",'
                         '"t":"2026-01-01T00:00:09.000Z"}\n{"d":"torn')
        self.assertEqual(self.logs(box).text, "good\nfine\n")

    def test_grep(self):
        box = self.create()
        for word in ("apple", "banana", "cherry"):
            box.sh(f"echo {word}")
        self.assertEqual(self.logs(box, "--grep", "an{1}a|^ch").text, "banana\ncherry\n")
        self.assertEqual(self.logs(box, "--grep", r"(?i)APP\w+").text, "apple\n")
        self.assertEqual(self.logs(box, "--grep", "nothing").text, "")

    def test_an_expression_that_takes_too_long_is_an_error(self):
        box = self.create()
        box.sh("echo " + "a" * 60 + "b")
        got = self.cordon("logs", box.name, "--grep", "^(a+)+$")
        self.assertEqual((got.code, got.out), (1, b""), got)
        self.assertRegex(got.errtext, r"^error: --grep: ")

    def test_bad_values(self):
        box = self.create()
        for opts, status, word in ((("--grep", "("), 1, "--grep"), (("--since", "soon"), 1, "--since"),
                                   (("--until", "5x"), 1, "--until"), (("--since", ""), 1, "--since"),
                                   (("--tail", "-1"), 2, "--tail"), (("--source", ""), 2, "--source"),
                                   (("--color", "always", "--no-color"), 2, "--no-color")):
            got = self.cordon("logs", box.name, *opts)
            self.assertEqual((got.code, got.out), (status, b""), got)
            self.assertIn(word, got.errtext)


class Rendered(LogsTest):
    def test_timestamps_and_ids(self):
        box = self.create()
        box.sh(r"printf 'one\ntwo\n'")
        self.assertRegex(self.logs(box, "--timestamps").text,
                         r"^\d{4}-[-\dT:.]+Z\tone\n {24}\ttwo\n$")
        self.assertEqual(self.logs(box, "--show-id").text, "[id:  1] one\n[id:  1] two\n")
        self.assertRegex(self.logs(box, "--show-id", "--source", "system").text,
                         r"^\[id:sys\] --- sandbox started ---\n$")

    def test_parts_of_a_line_are_joined(self):
        box = self.create()
        box.sh("printf ha; sleep 0.1; echo lf")
        self.assertEqual(self.logs(box).text, "half\n")
        self.assertEqual(len(self.records(box)), 2)

    def test_colours(self):
        box = self.create()
        box.sh(r"printf '\033[31mred\033[0m\n'")
        self.assertEqual(self.logs(box).text, "red\n")
        self.assertEqual(self.logs(box, "--no-color").text, "red\n")
        self.assertEqual(self.logs(box, "--color", "always").text, "\033[31mred\033[0m\n")
        self.assertEqual(self.logs(box, "--color", "always", env={"NO_COLOR": "1"}).text,
                         "\033[31mred\033[0m\n")
        self.assertEqual(self.logs(box, "--color-sessions").text, "[id:  1] red\n")
        self.assertRegex(self.logs(box, "--color-sessions", "--color", "always").text,
                         r"^\033\[\d+m\[id:  1\]\033\[0m \033\[\d+m")

    def test_our_own_colours_on_a_terminal(self):
        box = self.create()
        box.sh(r"printf '\033[31mred\033[0m\n'")
        terminal = self.terminal("logs", "--color-sessions", box.name)
        self.assertEqual(terminal.wait(), 0)
        self.assertRegex(terminal.seen, rb"^\x1b\[\d+m\[id:  1\]\x1b\[0m \x1b\[\d+mred\x1b\[0m\r\n$")
        terminal = self.terminal("logs", "--color-sessions", box.name, env={"NO_COLOR": "1"})
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual(terminal.seen, b"[id:  1] red\r\n")

    def test_broken_stdout_is_success(self):
        box = self.create()
        box.sh("seq 20000")
        read, write = os.pipe()
        os.close(read)
        proc = self.spawn("logs", box.name, stdout=write)
        os.close(write)
        self.assertEqual(proc.wait(10), 0)


def watches(pid):
    """Returns true if the process has an inotify watch. The process may close descriptors during the call."""
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as handle:
                if "inotify wd:" in handle.read():
                    return True
        except OSError:
            pass
    return False


class Follow(LogsTest):
    def following(self, box, *opts):
        proc = self.spawn("logs", "-f", box.name, *opts)
        return proc, Reader(proc.stdout)

    def test_new_output_is_shown_until_the_sandbox_ends(self):
        box = self.create()
        box.sh("echo before")
        proc, seen = self.following(box)
        self.eventually(lambda: seen.data == b"before\n")
        box.sh("echo after")
        self.eventually(lambda: seen.data == b"before\nafter\n", message=lambda: seen.data)
        self.assertIsNone(proc.poll())
        box.stop()
        self.assertEqual(proc.wait(5), 0)
        self.eventually(lambda: seen.data == b"before\nafter\n")

    def test_follow_waits_for_a_log_that_does_not_exist_yet(self):
        """`create` may end before the supervisor has made the log directory."""
        box = self.create()
        logs = os.path.join(self.home, "sandboxes", box.name, "logs")
        self.eventually(lambda: os.path.exists(os.path.join(logs, "exec.log")))
        shutil.rmtree(logs)
        proc, seen = self.following(box)
        self.eventually(lambda: watches(proc.pid) or proc.poll() is not None)
        box.sh("echo first")
        self.eventually(lambda: seen.data == b"first\n", message=lambda: seen.data)
        box.stop()
        self.assertEqual(proc.wait(5), 0)

    def test_ends_when_the_supervisor_is_killed(self):
        box = self.create()
        proc, seen = self.following(box, "--source", "system")
        self.eventually(lambda: b"started" in seen.data)
        os.kill(box.supervisor().pid, signal.SIGKILL)
        self.assertEqual(proc.wait(5), 0)

    def test_the_last_records_are_shown(self):
        box = self.create()
        proc, seen = self.following(box, "--source", "system")
        self.eventually(lambda: b"started" in seen.data)
        box.stop()
        self.assertEqual(proc.wait(5), 0)
        self.eventually(lambda: seen.data ==
                        b"--- sandbox started ---\n--- sandbox stopped ---\n")

    def test_interrupt_is_success(self):
        box = self.create()
        proc, seen = self.following(box, "--source", "system")
        self.eventually(lambda: b"started" in seen.data)
        proc.send_signal(signal.SIGINT)
        self.assertEqual(proc.wait(5), 0)

    def test_filters_hold_while_following(self):
        box = self.create()
        proc, seen = self.following(box, "--grep", "yes", "--source", "stdout", "--show-id")
        box.sh("echo no; sleep 0.05; echo yes >&2; sleep 0.05; echo yes")
        self.eventually(lambda: seen.data == b"[id:  1] yes\n", message=lambda: seen.data)
        box.stop()
        self.assertEqual(proc.wait(5), 0)

    def test_rotation_loses_nothing(self):
        """The full log file is renamed while a command writes to it and a client follows it."""
        box = self.create()
        box.sh("echo first")
        record = json.dumps({"d": "x" * 1000, "e": None, "id": 1, "s": "system",
                             "t": "2026-01-01T00:00:00.000Z"}) + "\n"
        proc, seen = self.following(box)
        self.eventually(lambda: seen.data == b"first\n")
        slow = box.popen("sh", "-c", "echo slow 1; read x; echo slow 2", stdin=subprocess.PIPE)
        self.eventually(lambda: b"slow 1" in seen.data)
        with open(os.path.join(self.log_dir(box), "exec.log"), "a") as handle:
            handle.write(record * (10_500_000 // len(record)))
        box.sh("echo quick 1")  # the file is full, so the writer of this output renames it
        self.assertIn("exec.log.1", os.listdir(self.log_dir(box)))
        slow.stdin.write(b"\n")
        slow.stdin.flush()
        self.assertEqual(self.finish(slow).code, 0)
        box.sh("echo quick 2")
        expected = ["first", "quick 1", "quick 2", "slow 1", "slow 2"]
        self.assertEqual(sorted(self.logs(box).text.splitlines()), expected)
        self.eventually(lambda: sorted(seen.data.decode().splitlines()) == expected, within=30,
                        message=lambda: seen.data)
        box.stop()
        self.assertEqual(proc.wait(5), 0)

    def test_follow_of_a_stopped_sandbox_ends_at_once(self):
        box = self.create()
        box.sh("echo x")
        box.stop()
        got = self.cordon("logs", "-f", box.name, timeout=5)
        self.assertEqual((got.code, got.text), (0, "x\n"), got)

    def test_ends_when_its_reader_leaves(self):
        box = self.create()
        read, write = os.pipe()
        proc = self.spawn("logs", "-f", box.name, stdout=write)
        os.close(write)
        time.sleep(0.1)
        os.close(read)
        self.assertEqual(proc.wait(5), 0)
