"""Runs cordon in containers of real engines. If a container was started without
options that cordon needs, cordon fails and names these options. In a container with these options, cordon works."""

import os
import re

from engines import Docker, Podman
from harness import CORDON, CordonTest

# the options in README.md
DOCUMENTED = {
    Docker: "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
            "--security-opt systempaths=unconfined",
    Podman: "--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt unmask=ALL",
}
SECCOMP = ("--security-opt", "seccomp=unconfined")


class InContainers(CordonTest):
    modes = ("root",)
    timeout = 300

    def cordon_in(self, engine, options, *words):
        return engine.run(options, CORDON, *words)

    def refused(self, engine, options, *wanted):
        """Checks that `run` and `doctor` fail with the same advice. Returns the advice."""
        done = self.cordon_in(engine, options, "run", "--no-net", "host", "--", "echo", "works")
        report = self.cordon_in(engine, options, "doctor")
        self.assertEqual((done.returncode, done.stdout, report.returncode), (1, "", 1), (done, report))
        advice = done.stderr.splitlines()[-1]
        for word in wanted:
            self.assertIn(word, advice)
        self.assertIn(advice.strip(), report.stderr)
        self.assertRegex(report.stderr, r"✗ (Namespaces|Mounts) .*no sandbox can start")
        return advice

    def named(self, advice, program):
        """Returns the options that ADVICE names for `PROGRAM run`."""
        found = re.search(rf"in all: {program} run ((?:--security-opt \S+ ?)+)$", advice)
        self.assertTrue(found, advice)
        return found[1].split()

    def works(self, engine, options):
        """Checks that `run` works and `doctor` agrees, and that named sandboxes work too if the home is on a volume."""
        home = os.path.join(self.dir, "volume")
        os.makedirs(home, exist_ok=True)
        done = self.cordon_in(engine, options, "run", "-q", "--no-net", "host", "--", "echo", "works")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "works\n", ""), done)
        report = self.cordon_in(engine, options, "doctor")
        self.assertEqual(report.returncode, 0, report)
        self.assertNotIn("✗", report.stderr)
        done = engine.run((*options, "-v", f"{home}:/home/c", "-e", "CORDON_HOME=/home/c"), "sh", "-c",
                          f"{CORDON} create -q -n x --no-net host && {CORDON} exec x -- echo works; "
                          f"{CORDON} rm -f -q x")
        self.assertEqual((done.returncode, done.stdout), (0, "works\n"), done)

    def test_docker(self):
        engine = Docker(self)
        advice = self.refused(engine, (), "seccomp=unconfined", "systempaths=unconfined")
        self.works(engine, self.named(advice, "docker"))
        self.refused(engine, SECCOMP, "--security-opt systempaths=unconfined (Docker)")
        self.refused(engine, ("--security-opt", "systempaths=unconfined"),
                     "--security-opt seccomp=unconfined (Docker, Podman)")

    def test_podman(self):
        engine = Podman(self)
        advice = self.refused(engine, (), "seccomp=unconfined", "unmask=ALL")
        self.works(engine, self.named(advice, "podman"))
        # Podman's filter allows new namespaces, but refuses calls that cordon makes in them
        self.refused(engine, ("--security-opt", "unmask=ALL"),
                     "--security-opt seccomp=unconfined (Docker, Podman)")
        self.refused(engine, SECCOMP, "--security-opt unmask=ALL (Podman)")

    def test_the_line_of_the_readme(self):
        """Runs the `docker run` line of README.md. In this line, a named volume holds the home, the network is the
        default, and the command needs no `--`."""
        done = Docker(self).run((*DOCUMENTED[Docker].split(), "-v", "cordon:/root/.cordon"),
                                CORDON, "run", "host", "id")
        self.assertEqual((done.returncode, done.stdout), (0, "uid=0(root) gid=0(root) groups=0(root)\n"), done)

    def test_the_documented_options_work(self):
        for kind, options in DOCUMENTED.items():
            self.works(kind(self), options.split())
