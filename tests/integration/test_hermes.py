"""The calls that the Hermes agent makes, with its own arguments, through `msb`.

The scripts are our own. Each turn is one `exec`, which runs the command, saves the exported state of the shell to a
snapshot file, and prints the working directory between markers. The first turn uses a login shell. Each later turn
first sources the snapshot."""

import os
import shlex
import shutil
import subprocess

from harness import MSB, CordonTest, unique_number
from image_fixtures import ImageMixin, Layer, Layout, busybox_layer, missing

MARK = "__CWD_MARK__"


class Agent:
    def __init__(self, test, *create_options, cwd="/root", image="host", env=None, **variables):
        self.test, self.cwd, self.ready = test, cwd, False
        self.box = test.box()
        self.variables = [w for k, v in variables.items() for w in ("--env", f"{k}={v}")]
        got = test.cordon("create", "--name", self.box.name, "--replace", "--quiet", "--cpus", "1",
                          "--memory", "512M", *create_options, image, program=MSB, env=env)
        test.assertEqual((got.code, got.out, got.err), (0, b"", b""), got)

    def bash(self, script, login=False, stdin=subprocess.DEVNULL):
        return self.test.spawn(
            "exec", "--quiet", *(self.variables if login else ()), self.box.name, "--",
            *(["bash", "-l", "-c"] if login else ["bash", "-c"]), script, program=MSB,
            stdin=stdin, stderr=subprocess.STDOUT)

    def save(self):
        return ("umask 077; { export -p; declare -f; alias -p; echo 'shopt -s expand_aliases'; } "
                "> /tmp/snap.new 2>/dev/null && mv -f /tmp/snap.new /tmp/snap")

    def turn(self, command, stdin=None):
        """Does one turn of the agent. Returns (status, output without the marker line)."""
        script = "\n".join([
            ". /tmp/snap >/dev/null 2>&1 || true" if self.ready else ":",
            f"cd {shlex.quote(self.cwd)} || exit 126", f"eval {shlex.quote(command)}", "ec=$?",
            self.save(), f"printf '\\n{MARK}%s{MARK}\\n' \"$(pwd -P)\"", "exit $ec"])
        proc = self.bash(script, login=not self.ready, stdin=subprocess.PIPE)
        out, _ = proc.communicate(stdin, timeout=60)
        text = out.decode("utf-8", "replace")
        self.ready = True
        self.test.assertEqual(text.count(MARK), 2, text)
        head, cwd, _ = text.split(MARK)
        self.cwd = cwd
        return proc.returncode, head[:-1]


class Hermes(CordonTest):
    def test_turns_keep_directory_variables_and_functions(self):
        agent = Agent(self, PLAIN="one", SPACED="two words 'q' \"d\"", DOLLAR="$HOME `id` \\n")
        self.assertEqual(agent.turn("echo hello"), (0, "hello\n"))
        self.assertEqual(agent.turn("(exit 42)")[0], 42)
        self.assertEqual(agent.turn('printf %s "$SPACED"'), (0, "two words 'q' \"d\""))
        self.assertEqual(agent.turn('printf %s "$DOLLAR"'), (0, "$HOME `id` \\n"))
        self.assertEqual(agent.turn("cd /usr/share; export KEPT=yes; f() { echo f-$1; }")[0], 0)
        self.assertEqual(agent.turn("pwd; echo $KEPT; f x"), (0, "/usr/share\nyes\nf-x\n"))
        self.assertEqual(agent.turn("cat", stdin=b"a\nb\n"), (0, "a\nb\n"))
        self.assertEqual(agent.turn("no-such-command-anywhere")[0], 127)
        self.assertIn("Linux", agent.turn("uname -a")[1])

    def test_env_of_the_bootstrap_does_not_stick_to_the_sandbox(self):
        agent = Agent(self, PLAIN="one")
        agent.turn("true")
        self.assertEqual(agent.box.out("echo [$PLAIN]"), "[]")

    def test_files_are_kept_for_the_next_turn_of_the_same_agent_only(self):
        a, b = Agent(self), Agent(self)
        a.turn("echo secret > /tmp/f; echo secret > /root/f")
        self.assertEqual(a.turn("cat /tmp/f /root/f"), (0, "secret\nsecret\n"))
        self.assertNotIn("secret", b.turn("cat /tmp/f /root/f 2>/dev/null")[1])

    def test_timeout_by_sigkill_of_the_client(self):
        agent, number = Agent(self), unique_number()
        proc = agent.bash(f"echo partial; (sleep {number}; true) & (sleep {number}; true)")
        self.eventually(lambda: len(self.sleepers(number)) == 2)
        proc.kill()
        proc.wait()
        self.eventually(lambda: not self.sleepers(number), within=1.0)
        self.assertEqual(proc.stdout.read(), b"partial\n")
        self.assertEqual(agent.turn("echo still"), (0, "still\n"))

    def test_background_work_lives_on_between_turns(self):
        agent, number = Agent(self), unique_number()
        self.assertEqual(agent.turn(f"sleep {number} & echo started")[0], 0)
        self.assertEqual(len(self.sleepers(number)), 1)
        self.assertEqual(agent.turn("true")[0], 0)
        self.assertEqual(len(self.sleepers(number)), 1)

    def test_merged_output_keeps_its_order(self):
        agent = Agent(self)
        self.assertEqual(agent.turn("for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done")[1],
                         "".join(f"o{i}\ne{i}\n" for i in range(1, 6)))

    def test_fire_and_forget_clean_up(self):
        agent = Agent(self)
        agent.turn("true")
        name = agent.box.name
        self.spawn("stop", name, "--quiet", program=MSB).wait(3.0)
        got = self.cordon("remove", name, "--quiet", program=MSB)
        self.assertEqual((got.code, got.out, got.err), (0, b"", b""), got)
        self.assertEqual(self.names(), [])

    def test_stop_and_remove_under_a_running_command(self):
        agent, number = Agent(self), unique_number()
        agent.bash(f"trap '' TERM; sleep {number}")
        self.eventually(lambda: self.sleepers(number))
        self.assertEqual(self.cordon("stop", agent.box.name, "--quiet", program=MSB).code, 0)
        self.assertEqual(self.cordon("remove", agent.box.name, "--quiet", program=MSB).code, 0)

    def test_persistent_sandbox_survives_clean_up(self):
        agent = Agent(self)
        agent.turn("echo kept > /root/kept")
        self.cordon("stop", agent.box.name, "--quiet", program=MSB)
        got = self.cordon("exec", "--quiet", agent.box.name, "--", "bash", "-c", "cat /root/kept",
                          program=MSB)
        self.assertEqual((got.code, got.text), (0, "kept\n"), got)

    def test_volumes_and_timers_as_hermes_passes_them(self):
        shared = os.path.join(self.dir, "shared")
        os.mkdir(shared)
        agent = Agent(self, "--no-network", "--volume", f"{shared}:/workspace",
                      "--max-duration", "1h", "--idle-timeout", "300s", cwd="/workspace")
        self.assertEqual(agent.turn("echo x > out; pwd"), (0, "/workspace\n"))
        self.assertEqual(os.listdir(shared), ["out"])

    def test_version(self):
        got = self.cordon("--version", program=MSB)
        self.assertEqual((got.code, got.text), (0, "msb 0.6.18\n"))


class OnImages(ImageMixin, CordonTest):
    """Makes the same turns in sandboxes of images that other tools made."""

    def load(self, *more):
        layout = Layout(self.path("layout"))
        layout.image("x", [busybox_layer(self.path("bb.tar")), *more], "--config.env", "PATH=/bin:/usr/bin")
        layout.copy("x", f"oci-archive:{self.path('x.tar')}:agent:1")
        self.ok("load", "--quiet", "--input", self.path("x.tar"))
        return "agent:1"

    def bash(self):
        if missing("bash-static"):
            self.not_run("bash-static is not installed")
        with open(shutil.which("bash-static"), "rb") as handle:
            return handle.read()

    def turns(self, agent):
        self.assertEqual(agent.turn("echo hello"), (0, "hello\n"))
        self.assertEqual(agent.turn('printf %s "$SPACED"'), (0, "two words"))
        self.assertEqual(agent.turn("cd /usr; export KEPT=yes; f() { echo f-$1; }")[0], 0)
        self.assertEqual(agent.turn("pwd; echo $KEPT; f x"), (0, "/usr\nyes\nf-x\n"))
        self.assertEqual(agent.turn("(exit 42)")[0], 42)
        self.assertEqual(agent.turn("cat", stdin=b"a\nb\n"), (0, "a\nb\n"))
        self.assertEqual(agent.turn("printf 'a b\\n' | awk '{print $2}' | grep b; mktemp -d")[0], 0)

    def test_an_image_with_bash(self):
        layer = Layer(self.path("bash.tar")).add("bin/bash", self.bash(), mode=0o755).close()
        self.turns(Agent(self, image=self.load(layer), SPACED="two words"))

    def test_an_image_without_bash(self):
        self.bash()
        ref = self.load()
        agent = Agent(self, image=ref, env={"MSB_SHELL_FALLBACK": "1"}, SPACED="two words")
        self.turns(agent)
        self.assertEqual(agent.turn("type -p bash")[1], "/.msb/bin/bash\n")
        self.assertEqual(agent.turn("echo harm > /.msb/bin/bash")[0], 1)
        plain = Agent(self, image=ref)  # without MSB_SHELL_FALLBACK, cordon adds no bash to the sandbox
        self.assertEqual(self.finish(plain.bash("true")).code, 127)
