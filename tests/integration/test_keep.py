"""Nothing is lost: what a person starts in the background stays until a person ends it, and can be found again."""

import os
import subprocess

from harness import ALL_MODES, CORDON, CordonTest, unique_number


class Removal(CordonTest):
    modes = ALL_MODES

    def unnamed(self, *command):
        got = self.cordon("run", "-d", "host", "--", *command)
        self.assertEqual(got.code, 0, got)
        return got.text.strip()

    def test_force_removes_an_unnamed_sandbox_that_runs_in_the_background(self):
        number = unique_number()
        name = self.unnamed("sleep", str(number))
        self.eventually(lambda: self.sleepers(number))
        got = self.cordon("rm", "-f", name)
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.sleepers(number), [])
        self.assertEqual(self.cordon("rm", name).code, 1)

    def script(self, text):
        return subprocess.run(["sh", "-ec", text], env=dict(self.environment(), CORDON=CORDON), timeout=60,
                              capture_output=True, text=True)

    def test_a_script_removes_everything_that_list_prints(self):
        count = unique_number()
        self.unnamed("sleep", str(count))
        self.create()
        for _ in range(2):  # the second time there is nothing to remove
            got = self.script('"$CORDON" rm -f $("$CORDON" ls -q); echo through')
            self.assertEqual((got.returncode, got.stdout), (0, "through\n"), got)
            self.assertEqual(self.names(), [])

    def test_force_passes_over_a_sandbox_that_is_gone(self):
        box = self.create()
        got = self.cordon("rm", "-f", "nosuch", box.name)
        self.assertEqual(got.code, 0, got)
        self.assertIn("warn: sandbox not found: nosuch\n", got.errtext)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.cordon("rm", "-qf", "nosuch").errtext, "")
        self.assertEqual(self.cordon("rm", "nosuch").code, 1)

    def test_msb_still_asks_for_a_name(self):
        msb = os.path.join(os.path.dirname(CORDON), "msb")
        for args, status in ((("rm", "-f"), 2), (("rm", "-f", "nosuch"), 1)):
            got = subprocess.run([msb, *args], env=self.environment(), capture_output=True, timeout=30)
            self.assertEqual(got.returncode, status, got)
