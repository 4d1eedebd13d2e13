"""Tests that a command gets the environment variables of the documented list and no others."""

import os

from harness import HOST_SECRET, HOST_SECRET_VALUE, CordonTest

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Environment(CordonTest):
    def variables(self, box, *opts, **kwargs):
        got = box.exec("env", "-0", opts=opts, **kwargs)
        self.assertEqual(got.code, 0, got)
        return dict(v.split("=", 1) for v in got.text.split("\0") if v)

    def test_a_command_gets_only_path_home_and_locale(self):
        self.assertEqual(self.variables(self.create()),
                         {"PATH": "/.msb/scripts:" + DEFAULT_PATH, "HOME": "/root",
                          "LANG": "C.UTF-8"})

    def test_the_callers_variables_stay_outside(self):
        hostile = {HOST_SECRET: HOST_SECRET_VALUE, "SSH_AUTH_SOCK": "/s", "AWS_SECRET_KEY": "k",
                   "LD_PRELOAD": "", "MSB_PATH": "/m", "TERM": "xterm", "LANG": "C", "USER": "me",
                   "IFS": "x", "ENV": "/tmp/evil", "BASH_ENV": "/tmp/evil", "PWD": self.dir}
        box = self.create(env=hostile)
        self.assertEqual(set(self.variables(box, env=hostile)),
                         {"PATH", "HOME", "LANG"})

    def test_pid_1_and_the_supervisor_hold_no_variable_of_the_caller(self):
        box = self.create()
        self.assertNotIn(HOST_SECRET_VALUE, box.sh("cat /proc/*/environ").text)
        for p in box.host_processes():
            try:
                with open(f"/proc/{p.pid}/environ", "rb") as handle:
                    data = handle.read()
            except OSError:
                continue
            self.assertNotIn(HOST_SECRET_VALUE.encode(), data, p)

    def test_precedence(self):
        box = self.create("-e", "A=box", "-e", "B=box")
        got = self.variables(box, "-e", "A=exec", "-e", "A=again")
        self.assertEqual((got["A"], got["B"]), ("again", "box"))

    def test_path_given_by_the_user_still_gets_the_scripts_directory(self):
        self.assertEqual(self.variables(self.create(), "-e", "PATH=/usr/bin")["PATH"],
                         "/.msb/scripts:/usr/bin")

    def test_home_given_by_the_user_is_kept(self):
        self.assertEqual(self.variables(self.create("-e", "HOME=/opt"))["HOME"], "/opt")

    def test_bare_name_takes_the_value_at_create(self):
        box = self.create("-e", "GIVEN", env={"GIVEN": "at create"})
        self.assertEqual(self.variables(box, env={"GIVEN": "later"})["GIVEN"], "at create")

    def test_unset_bare_name_is_refused(self):
        got = self.cordon("create", "-n", "x", "--env", "UNSET_VARIABLE", "host")
        self.assertEqual(got.code, 1, got)
        self.assertIn("UNSET_VARIABLE", got.errtext)
        self.assertEqual(self.names(), [])

    def test_odd_names_and_values(self):
        box = self.create()
        got = self.variables(box, "-e", "with-dash=1", "-e", "é=2", "-e", "EMPTY=",
                             "-e", "EQ==", "-e", "NL=a\nb", "-e", "BIG=" + "x" * 100_000)
        self.assertEqual((got["with-dash"], got["é"], got["EMPTY"], got["EQ"], got["NL"]),
                         ("1", "2", "", "=", "a\nb"))
        self.assertEqual(len(got["BIG"]), 100_000)
        for bad in ("", "=v"):
            self.assertEqual(box.exec("true", opts=(f"--env={bad}",)).code, 1)

    def test_login_shell_keeps_the_scripts_directory_on_path(self):
        got = self.create().exec("bash", "-l", "-c", "echo $PATH")
        self.assertIn("/.msb/scripts", got.text.strip().split(":"), got)

    def test_no_host_path_inside(self):
        """Neither mounts nor processes show the path of the state directory."""
        box = self.create()
        box_text = box.out("cat /proc/self/mountinfo /proc/mounts /proc/1/cmdline "
                           "/proc/self/cgroup 2>/dev/null; readlink /proc/1/exe /proc/1/cwd "
                           "/proc/1/root /proc/self/exe; true")
        self.assertNotIn(self.dir, box_text)
        self.assertNotIn(os.environ["CORDON_TEST_PREFIX"], box_text)
        groups = box.out("cat /proc/self/cgroup /proc/1/cgroup").splitlines()
        self.assertEqual({g.split(":", 2)[2] for g in groups if "cordon" in g}, set())

    def test_run_passes_env_to_its_command(self):
        got = self.cordon("run", "-q", "-e", "A=1", "host", "--", "env")
        self.assertEqual(set(line.split("=")[0] for line in got.text.splitlines()),
                         {"A", "PATH", "HOME", "LANG"}, got)
