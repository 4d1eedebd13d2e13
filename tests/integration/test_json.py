"""Tests the output for programs (--format json). Numbers, booleans, lists and times have JSON types or one fixed
format, and are never texts for people."""

import contextlib
import re
import socket

from harness import MSB, CordonTest
from image_fixtures import ImageMixin

# matches a number, a size, a truth value, a word for nothing, a list, a port or a quoted command, written as a text
TEXT_FOR_PEOPLE = re.compile(r"[+-]?\d+(\.\d+)?( ?[KMGT]i?B| ?%)?|(?i:true|false|yes|no|null|none|-|unknown)|.*, .*"
                             r"|.*->.*|\d+/(tcp|udp)|\".*\"", re.DOTALL)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")
# matches the paths of values that may be texts like TEXT_FOR_PEOPLE: the user wrote them (for example `env`), or cordon
# always uses a word there (for example "none" in `limits`)
TEXTS = re.compile(r".*\.(env|labels)\b.*|.*\.command\[\]|.*\.(cmd|entrypoint|image_env)\[\]"
                   r"|.*\.inode"  # written as text, because some JSON readers cannot hold so large a whole number
                   r"|.*\.limits\.\w+")
COMMAND = ("--config.cmd", "sh", "--config.cmd", "-c", "--config.cmd", "sleep 9")


def leaves(value, path="$"):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path + "[]")
    else:
        yield path, value


def free_ports(n):
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(n)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]


class Types(ImageMixin, CordonTest):
    modes = ("root", "user")

    def setUp(self):
        super().setUp()
        first, second, self.third = free_ports(3)
        self.tcp = {"guest_port": 80, "host_bind": "127.0.0.1", "host_port": first, "protocol": "tcp"}
        self.udp = {"guest_port": 53, "host_bind": "127.0.0.1", "host_port": second, "protocol": "udp"}

    def check(self, *args):
        got = self.cordon(*args, "--format", "json")
        self.assertEqual(got.code, 0, got)
        data = got.json()
        for path, value in leaves(data):
            with self.subTest(command=args[0], path=path):
                if path.endswith(("_at", ".timestamp")):
                    self.assertTrue(value is None or TIME.fullmatch(value), value)
                elif isinstance(value, str) and not TEXTS.fullmatch(path):
                    self.assertNotRegex(value, r"\A(?:" + TEXT_FOR_PEOPLE.pattern + r")\Z")
                if not re.search(r"\.(explicit|limits)\.", path) and re.search(
                        r"_(bytes|mib|secs|ms|ns|count|removed)$|\.(id|pid|cpus|total|in_use)$", path):
                    self.assertIn(type(value), (int, float, type(None)), value)
        return data

    def busy(self):
        """Makes a sandbox with a value for every kind of setting."""
        return self.create("-p", f"{self.tcp['host_port']}:80", "-p", f"127.0.0.1:{self.udp['host_port']}:53/udp",
                           "-v", f"{self.dir}:/v:ro", "-v", "vol:/w", "--tmpfs", "/t:10M", "-e", "A=one", "-e", "B=true",
                           "--label", "n=5", "--max-memory", "1G", "--max-cpus", "2", "--max-duration", "1h",
                           "--script", "x=true", "--net-rule", "allow@10.0.0.5:tcp:54", image=self.chosen)

    def test_every_command(self):
        self.chosen = self.load_busybox(config=COMMAND)
        box = self.busy()
        number = self.cordon("exec", "-d", "--format", "json", box.name, "--", "sleep", "1000").json()
        self.assertEqual(number, {"id": number["id"], "name": box.name})
        self.assertIs(type(number["id"]), int)
        changes = self.check("modify", box.name, "--next-start", "--memory", "600M", "--cpus", "2", "--pids-limit", "99",
                             "-e", "A=two", "-p", f"{self.third}:80", "--port-rm", "53/udp", "-v", f"{self.dir}:/v",
                             "--net", "all")
        self.assertEqual(changes["applied"], True)
        for args in (("list",), ("status",), ("status", box.name), ("ps", box.name), ("inspect", box.name),
                     ("inspect", "--show-env", box.name), ("metrics",), ("metrics", box.name), ("volume", "list"),
                     ("df",), ("image", "list"), ("image", "inspect", self.chosen), ("context",),
                     ("stop", box.name, "--id", str(number["id"])), ("image", "prune", "--yes")):
            self.check(*args)
        self.assertEqual(box.stop().code, 0)
        self.check("prune", "--yes")

    def test_ports_and_commands(self):
        self.chosen = self.load_busybox(config=COMMAND)
        box = self.busy()
        shown = self.check("status", box.name)
        self.assertEqual((shown["ports"], shown["command"]), ([self.tcp, self.udp], ["sh", "-c", "sleep 9"]))
        self.assertEqual(self.check("status")[0], shown)
        self.assertEqual(box.inspect()["ports"], [self.tcp, self.udp])
        self.assertEqual(box.inspect()["config"]["network"]["ports"], [self.tcp, self.udp])
        other = self.create()
        shown = self.check("status", other.name)
        self.assertEqual((shown["command"], shown["ports"]), ([], []))

    def test_changes(self):
        self.chosen = "host"
        box = self.busy()
        words = ("--next-start", "--memory", "600M", "--cpus", "2", "--pids-limit", "99", "-p", f"{self.third}:80",
                 "--port-rm", "53/udp", "-v", f"{self.dir}:/v", "--net", "none", "--workdir", "/t")
        plan = {c["field"]: c for c in self.check("modify", box.name, *words)["changes"]}
        pending = {c["field"]: c for c in self.check("inspect", box.name)["pending_changes"]}
        self.assertEqual(plan, pending)

        def seen(field):
            return plan[field]["before"], plan[field]["after"], plan[field]["unit"]

        self.assertEqual(seen("memory"), (512, 600, "MiB"))
        self.assertEqual(seen("cpus"), (1, 2, None))
        self.assertEqual(seen("pids_limit"), (1024, 99, None))
        self.assertEqual(seen("workdir"), (None, "/t", None))
        self.assertEqual(seen("ports.80/tcp"), ([self.tcp], [{**self.tcp, "host_port": self.third}], None))
        self.assertIsNone(plan["ports.53/udp"]["after"])
        before, after, _ = seen("volumes./v")
        self.assertEqual((before["host"], before["options"]["readonly"], after["options"]["readonly"]),
                         (self.dir, True, False))
        before, after, _ = seen("network.policy")
        self.assertEqual((before["enabled"], after["enabled"], after["policy"]["rules"]), (True, True, []))
        self.assertEqual(before["policy"]["rules"][0]["ports"], [{"end": 54, "start": 54}])

    def test_called_as_msb(self):
        """Called as msb, the program prints some values as texts for people, because the original msb does so."""
        self.chosen = self.load_busybox(config=COMMAND)
        box = self.busy()

        def msb(*args):
            return self.cordon(*args, "--format", "json", program=MSB).json()

        ports = [f"127.0.0.1:{self.tcp['host_port']}->80/tcp", f"127.0.0.1:{self.udp['host_port']}->53/udp"]
        shown = msb("status", box.name)
        self.assertEqual((shown["ports"], shown["command"]), (ports, '"sh -c sleep 9"'))
        self.assertEqual(msb("inspect", box.name)["ports"], ports)
        change = msb("modify", box.name, "--next-start", "--memory", "600M")["changes"][0]
        self.assertEqual(change, {"kind": "resource", "field": "memory", "change": "change", "before": "512 MiB",
                                  "after": "600 MiB", "disposition": "next start"})
        self.assertEqual(msb("inspect", box.name)["pending_changes"], [change])
