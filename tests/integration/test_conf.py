"""Tests configuration files, config.json and environment variables."""

import json
import os
import signal

from harness import CordonTest


class ConfTest(CordonTest):
    def write(self, name, text):
        place = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w") as handle:
            handle.write(text)
        return place

    def config(self, **members):
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        self.cordon("list")  # this command makes the directory a home
        return self.write("home/config.json", json.dumps(members))

    def refused(self, *opts, said, env=None, image=("host",)):
        got = self.cordon("create", "--name", "refused", *opts, *image, env=env)
        self.assertEqual(got.code, 1, got)
        self.assertIn(said, got.errtext)
        self.assertEqual(self.names(), [])
        return got


class Yaml(ConfTest):
    def test_a_whole_sandbox(self):
        self.write("data/f", "mounted\n")
        conf = self.write("sub/box.yaml", """
image: host
cpus: 1
memory: "300M"
max_duration: "1h"
workdir: /tmp
shell: /bin/bash
hostname: fromfile
env:
  A: one
  B: "${FROM_OUTSIDE}"
labels:
  team: x
mounts:
  - ../data:/data:ro
  - tmpfs: {size: "16M"}
    target: /scratch
scripts:
  hello: echo hello from $0
patches:
  - mkdir: {path: /opt/made}
rlimits:
  - {resource: nofile, soft: 123}
network: none
""")
        box = self.box()
        with self.claiming(box):
            got = self.cordon("create", "-q", "-n", box.name, "--conf", conf,
                              env={"FROM_OUTSIDE": "two"})
        self.assertEqual(got.code, 0, got)
        self.assertEqual(box.out("pwd; hostname; echo $A $B; cat /data/f; ls -d /opt/made; ulimit -n"),
                         "/tmp\nfromfile\none two\nmounted\n/opt/made\n123")
        self.assertEqual(box.out("ulimit -n", opts=("--rlimit", "nofile=130")), "130")
        self.assertIn("hello from", box.exec("hello").text)
        config = box.inspect()["config"]
        self.assertEqual(config["resources"]["memory_mib"], 300)
        self.assertEqual(config["lifecycle"]["max_duration_secs"], 3600)
        self.assertEqual(config["labels"], {"team": "x"})

    def test_flags_and_later_files_override_earlier_files(self):
        one = self.write("one.yaml", "memory: \"300M\"\nenv: {A: one, B: one, C: one}\n"
                                     "workdir: /root\n")
        two = self.write("two.yaml", "env: {B: two, C: two}\nworkdir: /usr\n")
        box = self.create("--conf", one, "--conf", two, "-e", "C=flag", "-m", "400M")
        self.assertEqual(box.out("echo $A $B $C; pwd"), "one two flag\n/usr")
        self.assertEqual(box.inspect()["config"]["resources"]["memory_mib"], 400)

    def test_the_last_file_on_the_command_line_wins_whatever_its_kind(self):
        root = self.write("root.yaml", "workdir: /root\n")
        runtime = self.write("runtime.yaml", "workdir: /usr\n")
        box = self.create("--runtime-conf", runtime, "--conf", root)
        self.assertEqual(box.out("pwd"), "/root")
        box = self.create("--conf", root, "--runtime-conf", runtime)
        self.assertEqual(box.out("pwd"), "/usr")

    def test_files_for_one_part_of_the_specification(self):
        self.write("d/f", "x\n")
        box = self.create("--resource-conf", self.write("r.yaml", "cpus: 1\nmemory: \"200M\"\n"),
                          "--runtime-conf", self.write("t.yaml", "env: {A: b}\n"),
                          "--fs-conf", self.write("f.yaml", "mounts: [\"./d:/d\"]\n"),
                          "--script-conf", self.write("s.yaml", "hi: echo hi\n"),
                          "--net-conf", self.write("n.yaml", "policy: none\n"))
        self.assertEqual(box.out("echo $A; cat /d/f; hi"), "b\nx\nhi")

    def test_mistakes_name_the_file_and_the_place(self):
        for text, said in (("image: [", "bad.yaml"), ("colour: red\n", "colour"),
                           ("cpus: 1\ncpus: 2\n", "bad.yaml:2"), ("a: &x 1\nb: *x\n", "bad.yaml"),
                           ("--- {}\n--- {}\n", "bad.yaml"), ("memory: 12Q\n", "12Q"),
                           ("env: {A: \"${NOT_SET_AT_ALL}\"}\n", "NOT_SET_AT_ALL"),
                           ("mounts: [\"./nope:/x\"]\n", "nope"), ("cpus: yes\n", "bad.yaml:1:7"),
                           ("network: {allow: [a.example, b.example:443]}\n",
                            "bad.yaml: network.allow[1]: --net-rule: bad rule 'allow@b.example:443'"),
                           ("secrets: {A: {value: x}}\n", "not supported yet"),
                           ("init: /sbin/init\n", "not supported yet")):
            with self.subTest(text=text):
                self.refused("--conf", self.write("bad.yaml", text), said=said)
        self.refused("--conf", "/no/such/file.yaml", said="/no/such/file.yaml")
        self.refused("--conf", self.dir, said=self.dir)
        self.refused("--conf", self.write("noimage.yaml", "cpus: 1\n"), said="image", image=())
        self.refused("--conf", self.write("huge.yaml", "# " + "x" * (2 << 20)), said="huge.yaml")

    def test_a_caller_that_ignores_sigchld(self):
        """Some servers ignore SIGCHLD, and programs that they start inherit this. The client must still learn how the
        parser process ended."""
        path = self.write("a.yaml", "image: host\n")
        for words, code in ((("--conf", path), 0), (("--conf", path + ".none"), 1)):
            got = self.finish(self.spawn(
                "run", *words, "--", "true",
                preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)))
            self.assertEqual(got.code, code, got)

    def test_no_configuration_file_is_found_by_its_name(self):
        for name in ("cordon.yaml", "msb.yaml", "microsandbox.yaml", ".cordon.yaml", "Sandboxfile"):
            self.write(name, "workdir: /usr\n")
        box = self.create(cwd=self.dir)
        self.assertEqual(box.out("pwd"), "/")


class Json(ConfTest):
    def test_defaults_are_resolved_at_create(self):
        self.config(sandbox_defaults={"cpus": 1, "memory_mib": 222, "shell": "/bin/bash",
                                      "workdir": "/usr"}, unknown={"is": "ignored"})
        box = self.create()
        self.config()
        config = box.inspect()["config"]
        self.assertEqual(config["resources"]["memory_mib"], 222)
        self.assertEqual(config["runtime"]["shell"], "/bin/bash")
        self.assertEqual(box.out("pwd"), "/usr")
        other = self.create("-w", "/tmp")
        self.assertEqual(other.inspect()["config"]["resources"]["memory_mib"], 512)

    def test_precedence(self):
        self.config(sandbox_defaults={"workdir": "/usr", "memory_mib": 222})
        conf = self.write("c.yaml", "workdir: /tmp\n")
        self.assertEqual(self.create("--conf", conf).out("pwd"), "/tmp")
        self.assertEqual(self.create("--conf", conf, "-w", "/root").out("pwd"), "/root")

    def test_a_variable_names_another_file(self):
        path = self.write("other.json", json.dumps({"sandbox_defaults": {"workdir": "/usr"}}))
        got = self.cordon("run", "host", "--", "pwd", env={"MSB_CONFIG_PATH": path})
        self.assertEqual(got.text, "/usr\n", got)
        self.refused(said="MSB_CONFIG_PATH: read '/no/such.json'", env={"MSB_CONFIG_PATH": "/no/such.json"})

    def test_bad_files(self):
        place = self.config()
        for text, said in (("{", "config.json"), ('{"sandbox_defaults": 1}', "sandbox_defaults"),
                           ('{"sandbox_defaults": {"cpus": "many"}}', "cpus"),
                           ('{"engine": "warp"}', "warp"),
                           ('{"paths": {"volumes": 1}}', "paths")):
            with self.subTest(text=text):
                with open(place, "w") as handle:
                    handle.write(text)
                self.refused(said=said)


class Variables(ConfTest):
    def test_backend(self):
        self.refused(said="MSB_BACKEND", env={"MSB_BACKEND": "cloud"})
        got = self.cordon("run", "host", "--", "echo", "ok", env={"MSB_BACKEND": "local"})
        self.assertEqual(got.text, "ok\n", got)
        self.assertEqual(self.cordon("--version", env={"MSB_BACKEND": "cloud"}).code, 0)

    def test_ignored_variables(self):
        got = self.cordon("run", "host", "--", "echo", "ok",
                          env={"MSB_API_KEY": "x", "MSB_API_URL": "y", "MSB_PROFILE": "z",
                               "MSB_LIBKRUNFW_PATH": "/nope", "MSB_PATH": "/nope"})
        self.assertEqual(got.text, "ok\n", got)

    def test_engine(self):
        self.refused(said="CORDON_ENGINE", env={"CORDON_ENGINE": "warp"})
        got = self.cordon("run", "host", "--", "echo", "ok", env={"CORDON_ENGINE": "process"})
        self.assertEqual(got.text, "ok\n", got)
