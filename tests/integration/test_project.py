"""Tests the project file cordon.yaml: which effect it has, and that a command which can write to the project cannot use
the file to get more than a person allowed."""

import glob
import json
import os
import re

from harness import ALL_MODES, CORDON, MSB, ONE_ID, CordonTest, Terminal

PLAIN = "image: host\nmounts: ['.:/job']\nworkdir: /job\nnetwork: none\n"
NOT_YET = "is not allowed yet"
CHANGED = "has changed since it was allowed"


class ProjectTest(CordonTest):
    def setUp(self):
        super().setUp()
        self.project = os.path.join(self.dir, "project")
        os.makedirs(self.project, exist_ok=True)

    def write(self, name, text, mode=0o644):
        place = os.path.join(self.project, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w") as handle:
            handle.write(text)
        os.chmod(place, mode)
        return place

    def read(self, name):
        with open(os.path.join(self.project, name)) as handle:
            return handle.read()

    def here(self, *args, below="", **kwargs):
        return self.cordon(*args, cwd=os.path.join(self.project, below), **kwargs)

    def run_here(self, *command, below="", opts=(), **kwargs):
        return self.here("run", "-q", *opts, "--", *command, below=below, **kwargs)

    def sh(self, script, *args, **kwargs):
        return self.run_here("sh", "-c", script, "sh", *args, **kwargs)

    def allow(self, below="", code=0):
        got = self.here("allow", "--yes", below=below)
        self.assertEqual(got.code, code, got)
        return got.errtext

    def allowed(self, text=PLAIN):
        self.write("cordon.yaml", text)
        self.allow()

    def refused(self, got, said):
        self.assertEqual(got.code, 1, got)
        self.assertIn(said, got.errtext)
        self.assertEqual(got.out, b"")
        self.assertEqual(self.names(), [])


class Use(ProjectTest):
    def test_a_whole_project(self):
        os.makedirs(os.path.join(self.project, "deep", "down"))
        self.write("secrets.env", "# values\nA=from file\n  B='kept'\nC=over\n\n")
        self.allowed("image: host\nmounts: ['.:/job']\nworkdir: /job\nmemory: '300M'\nsoft_limits: true\n"
                     "env_file: secrets.env\nenv: {C: own}\nnetwork: none\nhostname: fromfile\n"
                     "scripts: {check: 'echo checked $1'}\n")
        for below in ("", "deep/down"):
            got = self.sh("pwd; hostname; echo \"$A $B $C\"; check it; ls -d deep", below=below)
            self.assertEqual((got.code, got.text),
                             (0, "/job\nfromfile\nfrom file 'kept' own\nchecked it\ndeep\n"), got)
        box = self.box()
        with self.claiming(box):
            got = self.here("create", "-q", "-n", box.name, "-m", "280M", "-e", "C=flag")
        self.assertEqual(got.code, 0, got)
        self.assertEqual(box.out("echo $C; echo new > f"), "flag")
        self.assertEqual(self.read("f"), "new\n")
        self.assertEqual(box.inspect()["config"]["resources"]["memory_mib"], 280)

    def test_init_writes_a_file_that_works(self):
        got = self.here("init")
        self.assertEqual(got.code, 0, got)
        self.assertEqual(os.stat(os.path.join(self.project, "cordon.yaml")).st_mode & 0o777, 0o644)
        # a machine without cgroups cannot enforce the limits that the file asks for
        self.write("cordon.yaml", self.read("cordon.yaml") + "soft_limits: true\n")
        self.allow()
        self.assertEqual(self.run_here("pwd").text, "/workspace\n")
        again = self.here("init")
        self.refused(again, "already exists")
        self.assertIn("image: host", self.read("cordon.yaml"))

    def test_a_named_image_or_file_leaves_the_project_file_alone(self):
        self.write("cordon.yaml", "not even: [yaml")
        conf = self.write("other.yaml", "image: host\nworkdir: /usr\n")
        self.assertEqual(self.here("run", "-q", "host", "--", "pwd").text, "/\n")
        self.assertEqual(self.here("run", "-q", "--conf", conf, "--", "pwd").text, "/usr\n")

    def test_called_as_msb_it_is_never_read(self):
        self.allowed()
        self.refused(self.here("run", "--", "true", program=MSB), "no image given")

    def test_no_project_file(self):
        got = self.run_here("true")
        self.refused(got, "no image given")
        self.assertIn("cordon init", got.errtext)
        self.refused(self.here("allow", "-y"), "no cordon.yaml here")

    def test_bad_files(self):
        for text, said in (("image: [", "cordon.yaml:"), ("imgae: host\n", "unknown key 'imgae'"),
                           ("image: host\nmounts: ['./gone:/x']\n", "gone"),
                           ("image: host\nenv_file: gone.env\n", "gone.env"),
                           ("image: host\nenv: {A: 1}\n", "env.A")):
            self.write("cordon.yaml", text)
            self.refused(self.here("allow", "--yes"), said)
            self.refused(self.run_here("true"), said)
        self.write("cordon.yaml", "image: host\nenv_file: e.env\n")
        for text, said in (("A", "line 1: a name without a value"), ("=x", "the name is empty"), ("A B=c", "the name has a blank in it"),
                           ("A=1\nB=\0", "line 2: a NUL byte")):
            self.write("e.env", text)
            self.refused(self.here("allow", "--yes"), said)

    def test_env_file_is_no_key_of_other_files(self):
        conf = self.write("other.yaml", "image: host\nenv_file: e.env\n")
        self.write("e.env", "A=1\n")
        self.refused(self.here("create", "--conf", conf), "unknown key 'env_file'")

    def test_names_in_the_file_are_not_expanded(self):
        """A project file cannot read the environment variables of the person who uses it."""
        self.write("e.env", "B=${SECRET_OUTSIDE}\n")
        self.allowed(PLAIN + "env_file: e.env\nenv: {A: '${SECRET_OUTSIDE}'}\n")
        got = self.sh("echo \"$A $B\"", env={"SECRET_OUTSIDE": "leaked"})
        self.assertEqual(got.text, "${SECRET_OUTSIDE} ${SECRET_OUTSIDE}\n", got)


class Shell(ProjectTest):
    def test_a_shell_of_the_project(self):
        self.allowed()
        term = self.terminal("shell", cwd=self.project)
        term.expect(r"[$#] ")
        term.send("echo at=$(pwd) ${BASH_VERSION:+in-bash}\n")
        term.expect("at=/job in-bash")
        term.send("exit 5\n")
        self.assertEqual(term.wait(), 5)
        self.assertEqual(self.names(), [])
        self.assertTrue(term.restored())

    def test_a_script_and_the_shell_of_the_file(self):
        self.allowed(PLAIN + "shell: /bin/dash\ncmd: ['false']\n")
        got = self.here("shell", stdin=b"echo at=$(pwd) $A; readlink /proc/$$/exe; exit 4\n", env={"B": "2"})
        self.assertEqual((got.code, got.text.split("\n")[0]), (4, "at=/job"), got)
        self.assertIn("dash", got.text)
        got = self.here("shell", "-e", "A=1 2", "-w", "/usr", stdin=b"echo $A; pwd")
        self.assertEqual(got.text, "1 2\n/usr\n", got)

    def test_without_a_project_or_permission(self):
        self.refused(self.here("shell", stdin=b"true"), "no image given")
        self.write("cordon.yaml", PLAIN)
        self.refused(self.here("shell", stdin=b"true"), NOT_YET)


class Permission(ProjectTest):
    """A project file has no effect until a person has allowed what it asks for."""

    def test_nothing_happens_before_it_is_allowed(self):
        self.write("cordon.yaml", PLAIN)
        for words in (("run", "--", "touch", "/job/made"), ("create",)):
            self.refused(self.here(*words), NOT_YET)
        self.assertEqual(os.listdir(self.project), ["cordon.yaml"])

    def test_every_change_asks_again(self):
        self.write("data/f", "")
        self.write("e.env", "A=1\n")
        self.write("p.yaml", "patches: [{mkdir: {path: /opt/a}}]\n")
        text = PLAIN + "env_file: e.env\npatch_files: [p.yaml]\nscripts: {s: 'echo 1'}\n"
        for name, change in (("cordon.yaml", text.replace("network: none", "network: open")),
                             ("cordon.yaml", text.replace("echo 1", "echo 2")),
                             ("cordon.yaml", text + "# a comment\n"),
                             ("e.env", "A=2\n"),
                             ("p.yaml", "patches: [{mkdir: {path: /opt/b}}]\n")):
            self.write("e.env", "A=1\n")
            self.write("p.yaml", "patches: [{mkdir: {path: /opt/a}}]\n")
            self.allowed(text)
            self.assertEqual(self.run_here("true").code, 0)
            self.write(name, change)
            self.refused(self.run_here("true"), CHANGED)
            self.allow()
            self.assertEqual(self.run_here("true").code, 0)

    def test_permission_is_for_one_path_and_can_be_taken_back(self):
        self.allowed()
        self.write("copy/cordon.yaml", PLAIN)
        self.refused(self.run_here("true", below="copy"), NOT_YET)
        got = self.here("allow", "--forget")
        self.assertEqual(got.code, 0, got)
        self.refused(self.run_here("true"), NOT_YET)
        self.assertIn("was not allowed", self.here("allow", "--forget").errtext)

    def test_a_damaged_record_allows_nothing(self):
        self.allowed()
        (record,) = glob.glob(os.path.join(self.home, "projects", "*"))
        with open(record) as handle:
            self.assertEqual(json.load(handle)["path"], os.path.join(os.path.realpath(self.project), "cordon.yaml"))
        for text in ("", "{", "[]", '{"digest": ""}', '{"digest": null}'):
            with open(record, "w") as handle:
                handle.write(text)
            self.refused(self.run_here("true"), CHANGED)

    def test_without_a_terminal_allow_needs_yes(self):
        self.write("cordon.yaml", PLAIN)
        path = os.path.join(self.project, "cordon.yaml")
        self.assertEqual(self.here("allow").errtext,
                         f"error: cannot ask whether to allow '{path}': standard input or standard error is no "
                         "terminal\n  → run this at a terminal, or answer in advance with --yes\n")
        self.refused(self.here("allow", stdin=b"y\n"), "--yes")
        self.refused(self.run_here("true", stdin=b"y\n"), NOT_YET)

    def test_the_question_names_what_is_granted(self):
        outside = os.path.join(os.path.realpath(self.dir), "outside")
        os.makedirs(outside)
        os.symlink(outside, os.path.join(self.project, "link"))
        self.write("e.env", "FROM=x\n")
        self.write("cordon.yaml", PLAIN.replace("network: none", "network: {allow: ['pypi.org']}") +
                   "env_file: e.env\nenv: {HERE: secret-value}\nports: ['8080:80']\n"
                   "scripts: {build: 'true'}\ncmd: [serve, --all]\n"
                   "patches: [{copy_dir: {src: ../outside, dst: /opt/o}}]\n")
        with open(os.path.join(self.project, "cordon.yaml")) as handle:
            text = handle.read()
        self.write("cordon.yaml", text.replace("['.:/job']", "['.:/job', 'link:/linked:ro']"))
        said = self.allow()
        project = os.path.realpath(self.project)
        for line in (f"{project} → /job (writable)\n",
                     f"{outside} → /linked (read-only)  OUTSIDE THE PROJECT\n",
                     f"{outside} → /opt/o  OUTSIDE THE PROJECT\n", "allow@pypi.org", "127.0.0.1:8080 → 80",
                     "HERE", "FROM", f"{project}/e.env\n", "build", "serve --all"):
            self.assertIn(line, said)
        self.assertNotIn("secret-value", said)

    def test_no_value_can_forge_a_line_of_the_question(self):
        self.write("cordon.yaml", "image: host\nnetwork: none\n"
                                  "cmd: [\"a\\n  network     none\\e[2K\\r\"]\n"
                                  "scripts: {s: x}\nenv: {\"A\\nB\": x}\n")
        said = self.allow()
        self.assertIn("a\\x0a  network     none\\x1b[2K\\x0d", said)
        self.assertIn("A\\x0aB", said)
        self.assertNotIn("\x1b", said)

    def test_characters_that_reorder_or_hide_text_are_shown_as_bytes(self):
        self.write("cordon.yaml", "image: host\nnetwork: none\n"
                                  "cmd: [\"a\\u202eb\", \"c\\u2066d\", \"e\\u200bf\", \"g\\u061ch\", \"\\U000e0041\"]\n")
        said = self.allow()
        self.assertIn("a\\xe2\\x80\\xaeb c\\xe2\\x81\\xa6d e\\xe2\\x80\\x8bf g\\xd8\\x9ch \\xf3\\xa0\\x81\\x81\n", said)

    def test_the_question_names_weaker_protection_of_the_network(self):
        self.write("cordon.yaml", "image: host\nnetwork: {dns: {rebind_protection: false}, trust_host_cas: true}\n")
        said = self.allow()
        self.assertIn("public names may lead to private addresses\n", said)
        self.assertIn("the certificate authorities of this machine\n", said)

    def test_the_question_names_what_a_mount_can_do_beyond_its_path(self):
        """With stat-virt=off a command can give files to root of the host. A disk image makes the kernel read a
        stranger's file system."""
        for name in ("a", "b"):
            os.mkdir(os.path.join(self.project, name))
        self.write("disk.img", "")
        self.write("cordon.yaml", "image: host\nmounts: [{bind: ./a, target: /a, stat_virtualization: 'off'},"
                   " './b:/b:stat-virt=off', {disk: ./disk.img, target: /d}]\n")
        said = self.here("allow", "--yes").errtext
        self.assertIn("/a → /a (writable; files there may get any owner, root too)\n", said)
        self.assertIn("/b → /b (writable; files there may get any owner, root too)\n", said)
        self.assertIn("/disk.img → /d (disk image that the kernel reads, writable)\n", said)

    def test_more_than_a_person_can_read_is_refused(self):
        # the text of the file is short, but it names a link that leads to a long path
        deep = os.path.join(self.project, *["d" * 200] * 15)
        os.makedirs(deep)
        os.symlink(deep, os.path.join(self.project, "l"))
        copies = ", ".join(["{copy_dir: {src: l, dst: /opt/o}}"] * 100)
        self.write("cordon.yaml", f"image: host\nnetwork: open\npatches: [{copies}]\n")
        got = self.here("allow", "--yes")
        self.refused(got, "more than a person can read")
        self.assertNotIn("grants its sandboxes", got.errtext)
        self.refused(self.run_here("true"), NOT_YET)


class OnTerminal(ProjectTest):
    def ask(self, *args, answer, cwd=None):
        term = self.terminal(*args, cwd=cwd or self.project)
        term.expect(r"Allow this\? \[y/N\] ")
        term.send(answer)
        return term

    def test_a_person_is_asked_once_and_again_after_a_change(self):
        self.write("cordon.yaml", PLAIN)
        run = ("run", "-q", "--no-tty", "--", "echo", "r=a=n")
        term = self.ask(*run, answer="n\n")
        self.assertEqual(term.wait(), 1)
        self.assertIn(b"was not allowed", term.seen)
        term = self.ask(*run, answer="y\n")
        term.expect("r=a=n")
        self.assertEqual(term.wait(), 0)
        term = self.terminal(*run, cwd=self.project)
        term.expect("r=a=n")
        self.assertNotIn(b"Allow", term.seen)
        self.assertEqual(term.wait(), 0)
        self.write("cordon.yaml", PLAIN + "# changed\n")
        term = self.terminal(*run, cwd=self.project)
        term.expect("has changed since it was allowed")
        term.expect(r"Allow this\? \[y/N\] ")
        term.send("\n")
        self.assertEqual(term.wait(), 1)
        self.refused(self.run_here("true"), CHANGED)

    def test_allow_asks(self):
        self.write("cordon.yaml", PLAIN)
        self.assertEqual(self.ask("allow", answer="no\n").wait(), 1)
        self.refused(self.run_here("true"), NOT_YET)
        self.assertEqual(self.ask("allow", answer="y\n").wait(), 0)
        self.assertEqual(self.run_here("true").code, 0)

    def test_a_file_further_down_is_named(self):
        self.allowed()
        self.write("sub/cordon.yaml", "image: host\n")
        term = self.terminal("run", "-q", "--", "true", cwd=os.path.join(self.project, "sub"))
        # a long line is broken and goes on with an indent
        shown = re.sub(rb"\s+", b"", term.expect(r"^.*Allow this\?").group()).decode()
        self.assertIn("sub/cordon.yamlgrants", shown)
        self.assertRegex(shown, "furtherupisnotused:[^:]*project/cordon.yaml")
        term.send("\n")
        self.assertEqual(term.wait(), 1)

    def test_what_was_typed_before_the_question_is_no_answer(self):
        self.write("cordon.yaml", PLAIN)
        # the shell reads the first line, and the second line waits in the terminal before the program asks
        term = Terminal(self, ["sh", "-c", "read line; exec \"$@\"", "sh", CORDON, "allow"],
                        self.environment(None, {"TERM": "xterm"}), cwd=self.project)
        term.send("first\ny\n")
        term.expect(r"Allow this\? \[y/N\] ")
        term.send("n\n")
        self.assertEqual(term.wait(), 1)

    def test_a_long_value_cannot_look_like_another_line(self):
        self.write("cordon.yaml", "image: host\nnetwork: open\n"
                                  "cmd: ['serve" + " " * 200 + "  network     none" + " " * 200 + "']\n")
        term = self.terminal("allow", cwd=self.project)
        shown = term.expect(r"^.*Allow this\?").group().decode()
        lines = shown.replace("\r", "").split("\n")
        self.assertLess(max(map(len, lines)), 80, shown)
        begins = [line for line in lines if line.startswith("  ") and line[2:3] != " "]
        self.assertEqual([line.split()[0] for line in begins], ["command", "limits", "network", "image"], shown)
        term.send("\n")
        self.assertEqual(term.wait(), 1)

    def test_what_lies_outside_stands_right_above_the_question(self):
        outside = os.path.join(os.path.realpath(self.dir), "outside")
        os.makedirs(outside)
        names = ", ".join(f"VARIABLE_{i}: x" for i in range(2000))
        self.write("cordon.yaml", f"image: host\nnetwork: open\nmounts: ['../outside:/o', '.:/job']\nenv: {{{names}}}\n")
        term = self.terminal("allow", cwd=self.project)
        shown = term.expect(r"^.*Allow this\?").group().decode()
        last = re.sub(r"\s+|\x1b\[[0-9;]*m", "", shown[-400:])
        wanted = f"volume{outside}→/o(writable)OUTSIDETHEPROJECTAllowthis?"
        self.assertTrue(last.endswith(wanted), (last, wanted))
        term.send("\n")
        self.assertEqual(term.wait(), 1)


class Refused(ProjectTest):
    """Tests that cordon refuses a project file that somebody else could change, or that is no regular file."""

    modes = ("root", "user")

    def test_writable_by_others(self):
        for mode in (0o666, 0o664, 0o646):
            self.write("cordon.yaml", PLAIN, mode)
            self.refused(self.here("allow", "--yes"), "can be written by others")
            self.refused(self.run_here("true"), "can be written by others")
        self.write("cordon.yaml", PLAIN + "env_file: e.env\n")
        self.write("e.env", "A=1\n", 0o666)
        self.refused(self.here("allow", "--yes"), "can be written by others")

    def test_a_file_that_became_writable_later(self):
        self.allowed()
        os.chmod(os.path.join(self.project, "cordon.yaml"), 0o666)
        self.refused(self.run_here("true"), "can be written by others")

    def test_links_and_other_objects(self):
        self.write("real.yaml", PLAIN)
        os.symlink("real.yaml", os.path.join(self.project, "cordon.yaml"))
        self.refused(self.run_here("true"), "is a symbolic link")
        os.unlink(os.path.join(self.project, "cordon.yaml"))
        os.mkfifo(os.path.join(self.project, "cordon.yaml"))
        self.refused(self.run_here("true"), "is not a regular file")
        os.unlink(os.path.join(self.project, "cordon.yaml"))
        os.mkdir(os.path.join(self.project, "cordon.yaml"))
        self.refused(self.run_here("true"), "is not a regular file")


class AnotherOwner(ProjectTest):
    modes = ("root",)  # only root can give a file away

    def test_the_file_of_another_user_is_refused(self):
        place = self.write("cordon.yaml", PLAIN)
        os.chown(place, 4242, 4242)
        self.refused(self.here("allow", "--yes"), "belongs to another user (4242)")
        self.refused(self.run_here("true"), "belongs to another user (4242)")
        os.chown(place, 0, 0)
        self.allow()
        os.chown(place, 4242, 4242)
        self.refused(self.run_here("true"), "belongs to another user (4242)")


class FromInside(ProjectTest):
    """A command in a sandbox of the project tries to get more than a person allowed."""

    modes = ALL_MODES

    def attack(self, script, **kwargs):
        got = self.sh(script, **kwargs)
        self.assertEqual(got.code, 0, got)
        return got.text

    def test_the_file_and_env_file_cannot_be_changed_or_replaced(self):
        self.write("conf/e.env", "A=1\n")
        text = PLAIN + "env_file: conf/e.env\n"
        self.allowed(text)
        self.attack("""
            for f in cordon.yaml conf/e.env; do
                echo evil >> $f && exit 1
                rm -f $f && exit 2
                mv $f moved && exit 3
                echo evil > new; mv -f new $f && exit 4
                ln $f link && exit 5
                chmod 666 $f && exit 6
                umount $f && exit 7
                unshare -Urm umount $f && exit 8
                truncate -s 0 $f && exit 9
                python3 -c 'import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0, 1, 2):
    open("other", "w").close()
    if libc.renameat2(-100, b"other", -100, sys.argv[1].encode(), flags) == 0: sys.exit(0)
    if libc.renameat2(-100, sys.argv[1].encode(), -100, b"other", flags) == 0: sys.exit(0)
sys.exit(1)' $f && exit 10
            done 2>/dev/null
            exit 0""")
        self.assertEqual((self.read("cordon.yaml"), self.read("conf/e.env")), (text, "A=1\n"))
        self.assertEqual(self.run_here("true").code, 0)

    def test_another_user_inside_reads_the_file_and_cannot_change_it(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        self.allowed(PLAIN + "user: '1000'\n")
        got = self.sh("id -u; head -1 cordon.yaml; echo evil >> cordon.yaml; mv cordon.yaml x; rm -f cordon.yaml; "
                      "touch made && echo made")
        self.assertEqual(got.text, "1000\nimage: host\nmade\n", got)
        self.assertEqual(self.read("cordon.yaml"), PLAIN + "user: '1000'\n")
        self.assertEqual(os.stat(os.path.join(self.project, "made")).st_uid, os.stat(self.project).st_uid)

    def elsewhere(self, script):
        """Runs SCRIPT in a sandbox that shares the directory above the project and uses no project file."""
        got = self.cordon("run", "-q", "--no-net", "-v", f"{self.dir}:/above", "host", "--", "sh", "-c", script)
        self.assertEqual(got.code, 0, got)

    def test_a_directory_on_the_way_to_env_file_is_moved_away(self):
        self.write("conf/e.env", "A=1\n")
        self.allowed(PLAIN + "env_file: conf/e.env\n")
        self.attack("mv conf away 2>/dev/null && exit 1; rm -rf conf 2>/dev/null && exit 2; exit 0")
        self.assertEqual(self.run_here("true").code, 0)
        self.elsewhere("cd /above/project; mv conf away; mkdir conf; echo A=evil > conf/e.env")
        self.refused(self.run_here("true"), CHANGED)

    def test_the_project_is_moved_away_through_a_volume_above_it(self):
        self.allowed("image: host\nmounts: ['..:/above']\nnetwork: none\nworkdir: /\n")
        self.attack("echo evil >> /above/project/cordon.yaml && exit 1; "
                    "mv /above/project /above/away && exit 2; exit 0")
        self.assertEqual(self.run_here("true").code, 0)
        self.elsewhere("mv /above/project /above/away && mkdir /above/project && "
                       "printf 'image: host\\nnetwork: open\\n' > /above/project/cordon.yaml")
        self.refused(self.run_here("true"), CHANGED)

    def test_a_new_file_in_a_subdirectory(self):
        self.allowed()
        self.attack("mkdir sub; printf 'image: host\\nnetwork: open\\nmounts: [\"/:/host\"]\\n' > sub/cordon.yaml")
        self.refused(self.run_here("true", below="sub"), NOT_YET)

    def test_a_volume_that_became_a_link(self):
        """The file stays the same, but a volume source in it becomes a link to a directory that nobody allowed."""
        secret = os.path.join(self.dir, "secret")
        os.makedirs(secret)
        self.write("data/f", "")
        self.allowed(PLAIN.replace("['.:/job']", "['.:/job', './data:/data']"))
        self.attack(f"mv data old; ln -s {secret} data")
        self.refused(self.run_here("ls", "/data"), CHANGED)

    def test_a_copied_directory_and_an_image_that_became_links(self):
        secret = os.path.join(self.dir, "secret")
        os.makedirs(secret)
        self.write("data/f", "")
        self.allowed(PLAIN + "patches: [{copy_dir: {src: data, dst: /opt/data}}]\n")
        self.attack(f"mv data old; ln -s {secret} data")
        self.refused(self.run_here("ls", "/opt/data"), CHANGED)

    def test_env_file_that_became_a_link(self):
        secret = self.write("../secret", "KEY=secret\n")
        self.write("e.env", "A=1\n")
        self.allowed(PLAIN + "env_file: e.env\n")
        os.unlink(os.path.join(self.project, "e.env"))
        os.symlink(secret, os.path.join(self.project, "e.env"))
        self.refused(self.run_here("env"), CHANGED)

    def test_the_file_is_read_only_at_every_place_that_shows_it(self):
        self.allowed(PLAIN.replace("['.:/job']", "['.:/job', '.:/again', './cordon.yaml:/single', '..:/above']"))
        got = self.sh("for f in /job/cordon.yaml /again/cordon.yaml /single /above/project/cordon.yaml "
                      "/flag/cordon.yaml; do echo evil >> $f && echo wrote $f; rm -f $f 2>/dev/null && "
                      "[ $f != /single ] && echo removed $f; done 2>/dev/null; exit 0",
                      opts=("-v", f"{self.project}:/flag"))
        self.assertEqual((got.code, got.text), (0, ""), got)
        self.assertNotIn("evil", self.read("cordon.yaml"))

    def test_a_root_directory_that_holds_the_project_file(self):
        root = self.make_root("sh", "touch")
        self.project = root
        self.write("cordon.yaml", "image: .\nnetwork: none\n")
        self.allow()
        got = self.sh("echo evil >> /cordon.yaml; : > /new; touch /x; echo over > /new2")
        self.assertIn("cordon.yaml", got.errtext)
        self.assertEqual(self.read("cordon.yaml"), "image: .\nnetwork: none\n")

    def test_the_record_cannot_be_written_from_inside(self):
        """The home lies in the project, and the project is a writable volume."""
        self.home = os.path.join(self.project, "home")
        self.allowed()
        got = self.sh("ls -A home; mkdir -p home/projects; mv home away; exit 0")
        self.assertEqual(got.out, b"", got)
        self.assertTrue(os.path.isdir(os.path.join(self.home, "projects")))

    def test_an_allowed_file_changes_while_the_sandbox_runs(self):
        """A sandbox keeps the settings that `create` read from the project file. A later change of the file has no
        effect until a person allows it."""
        self.allowed()
        box = self.box()
        with self.claiming(box):
            self.assertEqual(self.here("create", "-q", "-n", box.name).code, 0)
        self.write("cordon.yaml", PLAIN.replace("none", "open").replace("/job", "/evil"))
        self.assertEqual(box.stop().code, 0)
        self.assertEqual(box.start().code, 0)
        self.assertEqual(box.out("pwd"), "/job")
        got = self.run_here("true")
        self.assertEqual(got.code, 1, got)
        self.assertIn(CHANGED, got.errtext)
