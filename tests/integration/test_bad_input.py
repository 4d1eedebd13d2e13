"""Tests bad input of every kind. cordon must neither crash nor hang. If cordon refuses the input, the exit status must
be 1 or 2, a message must be printed, and no sandbox must be made."""

import os
import re

from harness import CordonTest

# every option of create that takes a value
OPTIONS = """
    --name --cpus --memory --volume --mount-dir --mount-file --mount-disk --mount-named --tmpfs
    --workdir --shell --env --label --replace-with-timeout --entrypoint --hostname --user --pull
    --root-disk --max-duration --idle-timeout --port --net --log-level --security --engine
    --pids-limit --max-cpus --max-memory --cpu-placement --placement-profile --thp
    --deployment-profile --script --script-raw --script-path --copy --copy-file --copy-dir --mkdir
    --rm --init --init-arg --init-env --vsock --net-rule --net-default --net-default-egress
    --net-default-ingress --dns-nameserver --dns-query-timeout-ms --net-ipv4-pool --net-ipv6-pool
    --net-egress-bandwidth --net-ingress-bandwidth --net-egress-ops --net-ingress-ops
    --max-connections --proxy --socks4-user-id --socks5-username --socks5-password-env
    --tls-intercept-port --tls-bypass --secret --on-secret-violation --conf --net-conf
    --resource-conf --runtime-conf --fs-conf --secret-conf --script-conf --oci-upper-size
""".split()
# values that are bad for most options
HOSTILE = ["", "-1", "\x01\x02", b"\xff\xfe", "x" * 100_000, "99999999999999999999999999",
           "../../../etc/passwd", "%s%n%s%n", "a\nb", "{}", "=", ":", ",", "@", "é"]
# options that accept an empty value: a list of rules may be empty, and the others take any text
ANY_TEXT = {"--net-rule", "--entrypoint", "--placement-profile", "--init-arg", "--socks4-user-id",
            "--socks5-username"}


class CreateOptions(CordonTest):
    modes = ("user",)
    timeout = 300

    def fuzz(self, options):
        self.assertEqual(self.names(), [])
        for option in options:
            for value in HOSTILE:
                with self.subTest(option=option, value=repr(value)[:40]):
                    flag = option.encode() + b"=" + (value if isinstance(value, bytes)
                                                      else value.encode())
                    got = self.cordon("create", "-q", flag, "--no-such-flag-ends-it", "host")
                    self.assertEqual(got.code, 2, got)
                    got = self.cordon("create", "-q", flag, "/no/such/root/anywhere")
                    self.assertIn(got.code, (1, 2), got)
                    self.assertTrue(got.err)
                    self.assertNotRegex(got.errtext, r"(?i)sanitizer|assertion|segmentation")
        self.assertEqual(self.names(), [])
        self.assertEqual(self.left_running(), [])

    def test_every_second_option_with_bad_values_from_the_first(self):
        self.fuzz(OPTIONS[::2])

    def test_every_second_option_with_bad_values_from_the_second(self):
        self.fuzz(OPTIONS[1::2])

    def test_bad_values_name_their_flag(self):
        """The message for an empty value must name the flag."""
        for option in OPTIONS:
            if option in ANY_TEXT:
                continue
            with self.subTest(option=option):
                got = self.cordon("create", "-q", option + "=", "host")
                self.assertIn(got.code, (1, 2), got)
                self.assertIn(option, got.errtext)
        self.assertEqual(self.names(), [])


class EveryOption(CordonTest):
    """Tests the options that `-h` lists for each command, except the options of `create` and `run`."""

    modes = ("user",)
    timeout = 300

    def commands(self):
        """Returns the words of all commands except `create` and `run`, whose options are tested
        above."""
        found, group = [], None
        for line in self.cordon("--tree").text.splitlines()[1:]:
            depth, name = (line.index("─") - 1) // 4, re.search(r"── (\S+)", line).group(1)
            group = name if depth == 0 else group
            found.append((name,) if depth == 0 else (group, name))
        groups = {path[0] for path in found if len(path) == 2}
        return [p for p in found if p[0] not in ("create", "run") and (len(p) == 2 or p[0] not in groups)]

    def options(self, path):
        """Yields for each option of a command: its name, whether it takes a value, and whether it may be repeated."""
        text = self.cordon(*path, "-h").text.split("Global options:")[0]
        text = re.sub(r"\n {20,}", " ", text)  # the help of a long option stands on the next line
        for match in re.finditer(r"(?m)^ +(?:-\w, )?(--[a-z0-9-]+)(?: (\S+))?(.*)$", text):
            yield match.group(1), match.group(2) is not None, "(repeatable)" in match.group(3)

    def check(self, *words):
        got = self.cordon(*words, timeout=20)
        self.assertIn(got.code, (0, 1, 2), got)
        self.assertNotRegex(got.errtext, r"(?i)sanitizer|assertion|segmentation")
        return got

    def test_every_option_of_every_command_refuses_bad_values(self):
        paths = self.commands()
        self.assertGreater(len(paths), 40)
        seen = 0
        for path in paths:
            for option, valued, repeatable in self.options(path):
                seen += 1
                if not valued:
                    got = self.check(*path, option + "=x")
                    self.assertEqual(got.code, 2, got)
                    self.assertIn(option, got.errtext)
                    continue
                with self.subTest(path=path, option=option):
                    got = self.check(*path, option)
                    self.assertEqual(got.code, 2, got)
                    self.assertIn(option, got.errtext)
                    got = self.check(*path, option, "-x")
                    self.assertEqual(got.code, 2, got)
                    if not repeatable:
                        got = self.check(*path, option + "=1", option + "=1")
                        self.assertEqual(got.code, 2, got)
                        self.assertIn(option, got.errtext)
                for value in HOSTILE:
                    with self.subTest(path=path, option=option, value=repr(value)[:40]):
                        flag = option.encode() + b"=" + (value if isinstance(value, bytes)
                                                          else value.encode())
                        self.check(*path, flag, "nosuch")
        self.assertGreater(seen, 100)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.cordon("volume", "ls", "--format", "json").json(), [])


class OtherCommands(CordonTest):
    modes = ("user",)
    timeout = 180

    def test_hostile_names_everywhere(self):
        box = self.create()
        for command in ("exec", "start", "stop", "restart", "remove", "inspect", "status", "ping",
                        "touch", "attach", "logs", "metrics"):
            for name in ("", ".", "..", "../x", "a/b", "-", b"\xff", "x" * 5000, "a\nb", "é",
                         f"../sandboxes/{box.name}", box.name + "/"):
                with self.subTest(command=command, name=repr(name)[:40]):
                    rest = ("--", "true") if command == "exec" else ()
                    got = self.cordon(command, name, *rest)
                    self.assertIn(got.code, (1, 2), got)
                    self.assertNotRegex(got.errtext, r"(?i)sanitizer|assertion|segmentation")
        self.assertEqual(box.status(), "Running")

    def test_messages_do_not_pass_control_characters_to_the_terminal(self):
        got = self.cordon("exec", "a\x1b[31mred\x07", "--", "true")
        self.assertNotIn(b"\x1b", got.err)
        self.assertNotIn(b"\x07", got.err)

    def test_a_line_feed_in_a_value_does_not_start_a_hint(self):
        for words in (("inspect", "a\nb"), ("create", "--memory", "5\nG", "host"),
                      ("create", "-v", "no\ncolon", "host")):
            with self.subTest(words=words):
                got = self.cordon(*words)
                self.assertEqual((got.code, got.errtext.count("\n")), (1, 1), got)

    def test_hostile_environment_of_the_caller(self):
        box = self.create()
        for env in ({"CORDON_HOME": ""}, {"HOME": None, "CORDON_HOME": None},
                    {"PATH": None}, {"TERM": "\x1b]0;x\x07"}, {"CORDON_ENGINE": "bogus"},
                    {"LANG": "x" * 10000}, {"CORDON_HOME": "relative/home"},
                    {"CORDON_HOME": "x" * 5000}):
            with self.subTest(env=str(env)[:60]):
                got = self.cordon("list", "-q", env=env)
                self.assertIn(got.code, (0, 1), got)
        self.assertEqual(box.status(), "Running")

    def test_hostile_configuration_files(self):
        for text in ("", "{", "[]", '{"sandbox_defaults": 5}', '{"a":' * 5000, "\0", "\xff",
                     '{"sandbox_defaults": {"cpus": -1}}', '{"sandbox_defaults": {"cpus": "x"}}'):
            path = os.path.join(self.dir, "config.json")
            with open(path, "w", encoding="latin-1") as handle:
                handle.write(text)
            with self.subTest(text=text[:40]):
                got = self.cordon("run", "-q", "host", "--", "true", env={"MSB_CONFIG_PATH": path})
                self.assertEqual(got.code, 1, got)
                self.assertIn(path, got.errtext)
        self.assertEqual(self.names(), [])

    def test_unknown_configuration_keys_are_ignored(self):
        path = os.path.join(self.dir, "config.json")
        with open(path, "w") as handle:
            handle.write('{"unknown": [1, {"x": null}], "sandbox_defaults": {"workdir": "/usr"}}')
        got = self.cordon("run", "-q", "host", "--", "pwd", env={"MSB_CONFIG_PATH": path})
        self.assertEqual((got.code, got.text), (0, "/usr\n"), got)

    def test_digit_users_are_numbers_or_errors(self):
        """CVE-2026-30892, CVE-2026-46680: if a user is given as digits, cordon must never take the
        digits for a name, and must never run the command as root by accident."""
        box = self.create()
        box.out("echo '4294967296:x:0:0::/root:/bin/sh' >> /etc/passwd; "
                "echo '99999999999:x:0:0::/root:/bin/sh' >> /etc/passwd")
        for user in ("4294967296", "99999999999", "-1", "1:", ":1", "1:4294967296", "0x0", " 0",
                     "0 ", "1.0", "4294967295"):
            with self.subTest(user=user):
                got = box.exec("id", "-u", opts=(f"--user={user}",))
                self.assertEqual((got.code, got.out), (1, b""), got)

    def test_help_of_every_command_has_every_option_of_the_specification(self):
        text = self.cordon("create", "--help").text
        missing = [o for o in OPTIONS if not re.search(rf"{re.escape(o)}\b", text)
                   and o not in ("--oci-upper-size",)]
        self.assertEqual(missing, [])
