"""What an attacker found on the host's side of the walls: paths that were resolved twice, addresses
nobody had listed, privileges left in shared directories, pools that belong to the whole machine.
One class per finding, one test per hole; docs/security.md names them."""

import subprocess

import attack  # noqa: F401  (sets the path)
from harness import COMMAND_SECONDS, CORDON, CordonTest

# --- 1. a host path means one object ---------------------------------------------------------

# --- 2. addresses of the host ----------------------------------------------------------------

# --- 3. privileges in shared directories, copies out ------------------------------------------

# --- 4. pools of the whole machine ------------------------------------------------------------

# --- 5. the size of the writable layer --------------------------------------------------------

# --- 6. limits of ordinary users --------------------------------------------------------------

# --- 7. registry, image host, descriptors, names, logs -----------------------------------------


class HostImage(CordonTest):
    """Image `host`, started by a root: inside there is no more to see than for any user of the host.
    (In a container the caller's own id is the root inside, and its files are readable as its own.)"""

    modes = ("root", "served")

    def inside(self, script, *opts):
        """Runs SCRIPT in a sandbox whose /usr/local is one of this test's own making, in a mount
        namespace of its own: the machine's is left alone."""
        make = ("mount -t tmpfs -o mode=755 t /usr/local && cd /usr/local && mkdir -m 700 hidden && "
                "mkdir bin etc && echo secret >secret && chmod 600 secret && "
                "echo secret >hidden/file && echo secret >etc/file && echo public >public && "
                "cp /usr/bin/id bin/sid && cp /usr/bin/id bin/mine && chmod 6755 bin/sid && "
                "chmod 700 bin/mine && exec \"$@\"")
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-ec", make,
                               "sh", CORDON, "run", "-q", "--no-net", *opts, "host", "--", "sh", "-c", script],
                              env=self.environment(), cwd="/", capture_output=True, text=True,
                              timeout=COMMAND_SECONDS)
        return done.stdout, done.stderr

    def test_what_only_root_reads_is_not_read_by_the_root_inside(self):
        out, err = self.inside("cd /usr/local; cat public secret hidden/file; ls hidden; bin/mine; true")
        self.assertEqual(out, "public\n", err)
        self.assertEqual(err.count("ermission denied"), 4, err)

    def test_files_belong_to_nobody_and_set_user_id_has_no_effect(self):
        out, err = self.inside("stat -c %u:%g /usr/bin/env /usr/local/public; /usr/local/bin/sid -u; "
                               "/usr/local/bin/sid -g", "-u", "1000:1000")
        self.assertEqual(out, "65534:65534\n65534:65534\n1000\n1000\n", err)

    def test_configuration_below_usr_local_is_not_shown(self):
        out, err = self.inside("ls -A /usr/local/etc; cat /usr/local/etc/file; "
                               "touch /usr/local/etc/new || echo read-only")
        self.assertEqual(out, "read-only\n", err)

    test_configuration_below_usr_local_is_not_shown.modes = ("root", "container", "userns")
