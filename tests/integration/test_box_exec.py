"""Tests rules of the contract for box_exec that test_box does not test."""

import os

from harness import unique_number
from test_box import BoxTest


class Execs(BoxTest):
    def setUp(self):
        super().setUp()
        self.box = self.server()
        self.peer = self.box.legacy()

    def test_only_files_stay_between_execs(self):
        self.peer.exec("a", "X=1; export X; cd /tmp; umask 077; echo kept > /workspace/f")
        got = self.peer.exec("a", "echo \"[$X]\"; pwd; umask; cat f")
        self.assertEqual(got["stdout"], "[]\n/workspace\n0022\nkept")

    def test_input_is_empty(self):
        got = self.peer.exec("a", "wc -c")
        self.assertEqual((got["stdout"], got["exit_code"]), ("0", 0), got)

    def test_the_server_s_environment_is_not_inside(self):
        server = self.server(env={"SECRET_OF_THE_SERVER": "x"})
        got = server.legacy().exec("a", "env")
        self.assertNotIn("SECRET_OF_THE_SERVER", got["stdout"])
        self.assertNotIn("LANGBOT_BOX", got["stdout"])
        self.assertIn("HOME=/home\n", got["stdout"] + "\n")

    def test_output_is_trimmed_and_decoded(self):
        got = self.peer.exec("a", r"printf '\n \t a\000b \302\240\n\n'; printf '\377 \n' >&2")
        self.assertEqual((got["stdout"], got["stderr"]), ("a\0b", "\ufffd"))

    def test_a_command_that_closes_its_output_still_ends(self):
        got = self.peer.exec("a", "echo before; exec >&- 2>&-; sleep 0.1; exit 5")
        self.assertEqual((got["stdout"], got["exit_code"], got["status"]), ("before", 5, "completed"))

    def test_an_exec_does_not_wait_for_background_processes(self):
        slow = unique_number()
        got = self.peer.exec("a", f"setsid sh -c 'sleep {slow}' & echo done")
        self.assertEqual((got["stdout"], got["exit_code"]), ("done", 0))
        self.eventually(lambda: not self.sleepers(slow))

    def test_a_timeout_keeps_the_output_so_far(self):
        slow = unique_number()
        got = self.peer.exec("a", f"echo out; echo err >&2; setsid sleep {slow} & sleep {slow}", timeout_sec=1)
        self.assertEqual((got["status"], got["exit_code"], got["stdout"], got["stderr"]),
                         ("timed_out", None, "out", "err"))
        self.assertEqual(self.sleepers(slow), [])

    def test_a_workdir_that_cannot_be_made_fails_the_command(self):
        got = self.peer.exec("a", "echo never", workdir="/proc/none/such")
        self.assertNotEqual((got["exit_code"], got["stdout"]), (0, "never"), got)
        self.assertEqual(got["status"], "completed")

    def test_a_workdir_may_contain_shell_syntax(self):
        name = "/workspace/a'b $(touch /tmp/bad) \"c\"; x"
        got = self.peer.exec("a", "pwd; test -e /tmp/bad && echo bad", workdir=name)
        self.assertEqual(got["stdout"], name)

    def test_files_are_copied_as_langbot_copies_them(self):
        """LangBot runs python3 and sends it a script as input. The script writes and reads files in base64."""
        script = "python3 - <<'LBPY'\nimport base64\nopen('/workspace/in.bin','wb').write(base64.b64decode('AAEC'))\n" \
                 "print(base64.b64encode(open('/workspace/in.bin','rb').read()).decode())\nLBPY"
        self.assertEqual(self.peer.exec("a", script)["stdout"], "AAEC")

    def test_a_process_of_another_session_cannot_be_seen(self):
        slow = unique_number()
        self.peer.call("box_create_session", {"session_id": "b"})
        self.peer.call("box_start_managed_process", {"session_id": "b", "spec": {"command": "sleep", "args": [str(slow)]}})
        self.eventually(lambda: self.sleepers(slow))
        self.assertNotIn(str(slow), self.peer.exec("a", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")["stdout"])

    def test_with_mode_none_the_workdir_may_lie_anywhere(self):
        """The workdir must lie below mount_path only if host_path is mounted."""
        shared = os.path.join(self.dir, "shared")
        os.mkdir(shared)
        got = self.peer.exec("a", "pwd; ls /workspace", host_path=shared, host_path_mode="none", workdir="/tmp")
        self.assertEqual((got["stdout"], got["exit_code"]), ("/tmp", 0), got)
        for mode in ("ro", "rw"):
            self.fails("BoxValidationError: workdir must stay under mount_path when host_path is provided", self.peer.exec,
                       f"b-{mode}", "true", host_path=shared, host_path_mode=mode, workdir="/tmp")
            got = self.peer.exec(f"c-{mode}", "pwd", host_path=shared, host_path_mode=mode, mount_path="/project",
                                 workdir="/project/sub" if mode == "rw" else "/project")
            self.assertEqual(got["stdout"], "/project/sub" if mode == "rw" else "/project")
