"""Tests `metrics`: the values come from cgroups, or from /proc if there are no cgroups."""

import json
import os
import signal
import time

from harness import MODE, CordonTest, Reader

KEYS = ["cpu_percent", "cpus", "disk_read_bytes", "disk_write_bytes", "memory_available_bytes",
        "memory_bytes", "memory_host_resident_bytes", "memory_limit_bytes", "name", "net_rx_bytes",
        "net_tx_bytes", "state", "timestamp", "upper_free_bytes", "upper_host_allocated_bytes",
        "upper_used_bytes", "uptime_secs", "vcpu_time_ns"]
SPIN = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"


class Metrics(CordonTest):
    def metrics(self, *args):
        got = self.cordon("metrics", *args)
        self.assertEqual((got.code, got.err), (0, b""), got)
        return got

    def one(self, box):
        return self.metrics(box.name, "--format", "json").json()

    def test_shape(self):
        box = self.create()
        text = self.metrics(box.name, "--format", "json").text
        data = json.loads(text)
        self.assertEqual(list(data), KEYS)
        self.assertEqual(text, json.dumps(data, indent=2) + "\n")
        self.assertEqual((data["name"], data["state"], data["cpus"]), (box.name, "running", 1))
        self.assertRegex(data["timestamp"], r"\+00:00$")
        self.assertEqual((data["net_rx_bytes"], data["net_tx_bytes"]), (0, 0))
        self.assertGreater(data["uptime_secs"], 0.3)
        held = box.inspect()["limits"]["memory"].startswith("cgroup")
        self.assertEqual(data["memory_limit_bytes"], 512 << 20 if held else None)

    def test_table(self):
        a, b = self.create(name="aa"), self.create(name="bb")
        b.stop()
        lines = self.metrics().text.splitlines()
        self.assertRegex(lines[0], r"^NAME {4}STATE {6}CPU +MEM +DISK R/W /s +NET RX/TX /s +UPTIME$")
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[1], r"^aa +running +\d+\.\d\d / 1c +\S.* +\d+s$")
        lines = self.metrics("-a").text.splitlines()
        self.assertRegex(lines[2], r"^bb +stopped( +-){5}$")

    def test_cpu_time_of_running_and_of_ended_commands(self):
        box = self.create()
        before = self.one(box)["vcpu_time_ns"]
        box.sh(SPIN)
        after = self.one(box)
        self.assertGreater(after["vcpu_time_ns"] - before, 100_000_000)
        self.assertLess(after["cpu_percent"], 50)
        proc = box.popen("sh", "-c", f"while :; do {SPIN}; done")
        self.eventually(lambda: (self.one(box)["cpu_percent"] or 0) > 15, within=10)
        proc.kill()
        proc.wait()

    def test_memory(self):
        box = self.create()
        before = self.one(box)["memory_bytes"]
        proc = box.popen("/usr/bin/python3", "-c",
                         "x = bytearray(b'1' * (64 << 20)); print(len(x), flush=True);"
                         " import time; time.sleep(60)")
        seen = Reader(proc.stdout)
        self.eventually(lambda: seen.data, within=20)
        self.assertGreater(self.one(box)["memory_bytes"] - before, 60 << 20)
        proc.kill()
        proc.wait()
        self.eventually(lambda: self.one(box)["memory_bytes"] < (60 << 20), within=10)

    def test_disk_traffic(self):
        target = self.dir + "/volume"
        os.mkdir(target, 0o777)
        os.chmod(target, 0o777)
        box = self.create("-v", target + ":/v")
        got = box.sh("dd if=/dev/zero of=/v/x bs=1M count=8 conv=fsync 2>&1")
        self.assertEqual(got.code, 0, got)
        with open("/proc/self/mountinfo") as handle:
            mounts = [line.split() for line in handle]
        where = max((m for m in mounts if (target + "/").startswith(m[4].rstrip("/") + "/")),
                    key=lambda m: len(m[4]))
        if where[where.index("-") + 1] == "tmpfs":
            self.not_run("the test directory is in memory")
        wrote = self.one(box)["disk_write_bytes"]
        if MODE == "user" and wrote is None:
            return  # pid 1 has another id than the test in this mode, so /proc hides from the test how much pid 1 wrote
        self.assertGreaterEqual(wrote, 8 << 20)

    def test_rows_are_sorted(self):
        names = [self.create(name=n).name for n in ("bb", "aa", "cc")]
        rows = self.metrics("--format", "json").json()
        self.assertEqual([r["name"] for r in rows], sorted(names))
        proc = self.spawn("exec", "cc", "--", "/usr/bin/python3", "-c",
                          "x = b'1' * (32 << 20)\nwhile True: pass")
        self.eventually(lambda: [r["name"] for r in self.metrics("--sort", "cpu", "--format", "json")
                                 .json()][0] == "cc", within=10)
        self.assertEqual(self.metrics("--sort", "mem", "--format", "json").json()[0]["name"], "cc")
        proc.kill()
        proc.wait()

    def test_no_running_sandboxes(self):
        for args in ((), ("-a",)):
            got = self.cordon("metrics", *args)
            self.assertEqual((got.code, got.out), (0, b""), got)
            self.assertRegex(got.errtext, r"^No (running sandboxes|sandboxes found)\.\n$")
        self.assertEqual(self.cordon("metrics", "--format", "json").out, b"[]\n")

    def test_a_stopped_sandbox(self):
        box = self.create()
        box.stop()
        got = self.cordon("metrics", box.name)
        self.assertEqual((got.code, got.errtext),
                         (1, f'error: no metrics recorded for sandbox "{box.name}"\n'), got)
        row = self.metrics("-a", "--format", "json").json()[0]
        self.assertEqual((row["state"], row["memory_bytes"], row["cpu_percent"]),
                         ("stopped", None, None))

    def test_does_not_count_as_activity(self):
        box = self.create("--idle-timeout", "2")
        end = time.monotonic() + 8
        while box.status() == "Running" and time.monotonic() < end:
            self.cordon("metrics", box.name)
        self.assertEqual(box.status(), "Stopped")

    def test_a_stuck_supervisor_is_stalled(self):
        box = self.create()
        pid = box.supervisor().pid
        os.kill(pid, signal.SIGSTOP)
        try:
            data = self.one(box)
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual((data["state"], data["memory_bytes"]), ("stalled", None))

    def test_bad_values(self):
        for opts, status, word in ((("--interval", "0"), 1, "--interval"),
                                   (("--interval", "soon"), 1, "--interval"),
                                   (("-w",), 1, "--watch"), (("-w", "-f"), 2, "--follow"),
                                   (("-f", "--format", "json"), 2, "--format"),
                                   (("--sort", "colour"), 2, "--sort")):
            got = self.cordon("metrics", *opts)
            self.assertEqual((got.code, got.out), (status, b""), got)
            self.assertIn(word, got.errtext)


class Follow(CordonTest):
    def test_follow_prints_a_line_per_tick_until_interrupted(self):
        box = self.create()
        proc = self.spawn("metrics", "-f", "--interval", "1ms")  # metrics raises this interval to 100 ms
        seen = Reader(proc.stdout)
        self.eventually(lambda: seen.data.count(b"\n") >= 3)
        proc.send_signal(signal.SIGINT)
        self.assertEqual(proc.wait(5), 0)
        rows = [json.loads(line) for line in seen.data.splitlines()]
        self.assertEqual({r["name"] for r in rows}, {box.name})
        self.assertTrue(all(list(r) == KEYS and r["cpu_percent"] is not None for r in rows), rows)
        stamps = [r["uptime_secs"] for r in rows]
        self.assertTrue(all(b - a >= 0.09 for a, b in zip(stamps, stamps[1:])), stamps)

    def test_follow_of_one_ends_with_it(self):
        box = self.create()
        proc = self.spawn("metrics", "-f", box.name, "--interval", "100ms")
        seen = Reader(proc.stdout)
        self.eventually(lambda: seen.data)
        box.stop()
        self.assertEqual(proc.wait(5), 0)

    def test_follow_ends_when_its_reader_leaves(self):
        self.create()
        read, write = os.pipe()
        proc = self.spawn("metrics", "-f", "--interval", "10s", stdout=write)
        os.close(write)
        os.read(read, 1)
        os.close(read)
        self.assertEqual(proc.wait(5), 0)

    def test_watch_redraws_and_leaves_the_cursor(self):
        box = self.create()
        terminal = self.terminal("metrics", "-w", "--interval", "100ms")
        for _ in range(2):
            terminal.expect(r"\x1b\[2JNAME +STATE")
            terminal.expect(box.name)
        terminal.send(b"\x03")
        self.assertEqual(terminal.wait(), 0)
        self.assertTrue(terminal.seen.endswith(b"\x1b[?25h"), terminal.seen)
