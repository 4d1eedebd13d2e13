"""Tests under a kernel without overlayfs. boot.py unloads the module before it runs them."""

from harness import CordonTest
from test_served import ServedRoots


class WithoutOverlay(ServedRoots, CordonTest):
    modes = ("root", "user")

    def setUp(self):
        super().setUp()
        with open("/proc/filesystems") as handle:
            if "overlay" in handle.read().split():
                self.not_run("the kernel has overlayfs")
