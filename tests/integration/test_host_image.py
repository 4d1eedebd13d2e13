"""Tests the image `host`: programs of the host find their configuration in /etc, and /etc has nothing else of the
host. Also tests the locale, the shell and the PATH that commands get."""

import os
import shutil
import subprocess

from harness import ALL_MODES, COMMAND_SECONDS, CORDON, ONE_ID, CordonTest

ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Programs(CordonTest):
    own_home = True
    modes = ALL_MODES

    def needs(self, *programs):
        for program in programs:
            if not shutil.which(program, path="/usr/bin:/bin"):
                self.not_run(f"{program} is not installed")

    def test_fontconfig_finds_its_configuration(self):
        self.needs("fc-match")
        got = self.create().sh("fc-match sans-serif")
        self.assertEqual((got.code, got.errtext), (0, ""), got)

    def test_man_shows_a_page(self):
        self.needs("man")
        if not os.path.exists("/usr/share/man/man1/ls.1.gz"):
            self.not_run("the manual pages are not installed")
        got = self.create().sh("man -P cat ls | head -3", env={"MANWIDTH": "80"})
        self.assertEqual((got.code, got.errtext), (0, ""), got)
        self.assertIn("LS(1)", got.text)

    def test_perl_takes_the_characters_of_the_locale(self):
        self.needs("perl")
        got = self.create().sh("perl -e 'use POSIX; print setlocale(LC_ALL, q())'")
        self.assertEqual((got.code, got.errtext), (0, ""), got)
        self.assertIn("C.UTF-8", got.text)

    def test_java_reads_its_security_settings(self):
        self.needs("javac", "java")
        box = self.create("--memory", "1G", "-w", "/root")
        got = box.sh("""cat > A.java <<X
            public class A { public static void main(String[] a) throws Exception {
                System.out.println(java.security.Security.getProviders().length > 3);
                System.out.println(javax.net.ssl.SSLContext.getDefault().getProtocol());
            } }
X
            javac A.java && java A""")
        self.assertEqual((got.code, got.text), (0, "true\nDefault\n"), got)

    def test_maven_starts(self):
        self.needs("mvn")
        got = self.create("--memory", "1G").sh("mvn -version | head -1")
        self.assertEqual(got.code, 0, got)
        self.assertRegex(got.text, "^(.\\[1m)?Apache Maven")

    def test_every_public_link_of_usr_leads_to_a_file(self):
        """Some links in /usr lead into /etc. If every user of the host may read the file behind such a link, the link
        must lead to this file in the sandbox, too."""
        kept_out = ("/etc/environment", "/etc/ssl/private")
        links = []
        for directory, subdirectories, files in os.walk("/usr"):
            for name in subdirectories + files:
                path = os.path.join(directory, name)
                if not os.path.islink(path):
                    continue
                real = os.path.realpath(path)
                if not real.startswith("/etc/") or real.startswith(kept_out) or \
                        path.startswith("/usr/local/etc"):
                    continue
                mode = os.stat(path).st_mode if os.path.exists(path) else 0
                if os.path.isfile(path) and mode & 0o004 or os.path.isdir(path) and mode & 5 == 5:
                    links.append(path)
        if not links:
            self.not_run("no link in /usr leads to /etc")
        got = self.create().sh('while read -r f; do [ -e "$f" ] || echo "$f"; done',
                               stdin="".join(f"{p}\n" for p in links).encode())
        self.assertEqual((got.code, got.text), (0, ""), got)

    def test_the_locale_is_utf8_unless_another_is_set(self):
        self.assertEqual(self.create().out("echo $LANG"), "C.UTF-8")
        self.assertEqual(self.create("-e", "LANG=C").out("echo $LANG"), "C")
        self.assertEqual(self.create("-e", "LC_ALL=C").out("echo $LANG-$LC_ALL"), "-C")
        got = self.create().exec("sh", "-c", "echo $LANG", opts=("-e", "LANG=C"))
        self.assertEqual(got.text, "C\n", got)

    def test_a_person_gets_bash_with_the_name_of_the_sandbox(self):
        self.needs("bash")
        box = self.create(name="atelier")
        term = self.terminal("exec", box.name)
        term.expect(r"root@atelier:/[a-z]*[#$] $")
        term.send("echo ${BASH_VERSION:+bash}-$((40+2)); exit\n")
        term.expect("bash-42")
        self.assertEqual(term.wait(), 0)
        self.assertRegex(self.cordon("inspect", box.name).text, "Shell *.*/bin/bash")

    def test_a_login_shell_has_the_same_prompt(self):
        self.needs("bash")
        term = self.create(name="atelier").terminal("bash", "-l")
        term.expect(r"root@atelier:/[a-z]*[#$] $")
        term.send("exit\n")
        self.assertEqual(term.wait(), 0)

    def test_only_root_searches_the_directories_of_the_administrator(self):
        box = self.create()
        others = [] if ONE_ID else [("1000", "/usr/local/bin:/usr/bin:/bin")]
        for user, path in [("root", ROOT_PATH), *others]:
            got = self.cordon("exec", "-u", user, box.name, "--", "sh", "-lc", "echo $PATH")
            self.assertEqual(got.text, f"/.msb/scripts:{path}\n", got)


class Configuration(CordonTest):
    """Runs cordon with an /etc that the test has made, and with a /usr to which the test has added links."""

    own_home = True
    modes = ("root",)

    def setUp(self):
        super().setUp()
        self.etc = os.path.join(self.dir, "etc")
        self.usr = os.path.join(self.dir, "usr")
        os.makedirs(os.path.join(self.usr, "share/pointers"))
        for path, mode in (("passwd", 0o644), ("shadow", 0o600), ("machine-id", 0o644),
                           ("environment", 0o644), ("maven/m2.conf", 0o644),
                           ("maven/settings-security.xml", 0o600), ("maven/closed/inner", 0o644),
                           ("thing/deep/file", 0o644), ("thing/half", 0o640), ("tool.conf", 0o644),
                           ("other/public", 0o644), ("other/private", 0o600),
                           ("ssh/ssh_config", 0o644), ("fonts/a.conf", 0o644)):
            self.put(path, mode)
        os.chmod(os.path.join(self.etc, "maven/closed"), 0o750)
        self.etc_link("maven/outside", "/var/lib/outside")
        self.etc_link("maven/upwards", "../../var/lib/outside")
        self.etc_link("maven/further", "../tool.conf")
        self.etc_link("maven/secret", "/etc/shadow")
        self.etc_link("fonts/loop", "loop")
        self.etc_link("fonts/around", "../fonts")
        for name, target in (("dir", "/etc/thing"), ("a", "/etc/other/public"),
                             ("b", "../../../etc/other/private"), ("c", "/etc/shadow"),
                             ("d", "/etc/passwd"), ("e", "/etc/machine-id"), ("f", "/etc"),
                             ("g", "/etc/environment"), ("h", "/etc/ssh"), ("i", "/etc/..")):
            os.symlink(target, os.path.join(self.usr, "share/pointers", name))

    def put(self, path, mode):
        whole = os.path.join(self.etc, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="ascii") as f:
            f.write(f"content of {path}\n")
        os.chmod(whole, mode)

    def etc_link(self, path, target):
        os.symlink(target, os.path.join(self.etc, path))

    def inside(self, script):
        script_outside = ('mount -t overlay -o "lowerdir=$1:/usr" none /usr && mount --bind "$0" '
                          '/etc && shift && exec "$@"')
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script_outside, self.etc, self.usr, CORDON, "run",
             "-q", "host", "--", "sh", "-c", script],
            env=self.environment(), cwd=self.dir, capture_output=True, text=True,
            timeout=COMMAND_SECONDS)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def test_only_public_files_that_programs_need(self):
        found = self.inside("cd /etc && find maven thing tool.conf other fonts shadow machine-id "
                            "environment ssh 2>/dev/null | sort")
        self.assertEqual(found.split(), [
            "fonts", "fonts/a.conf", "fonts/around", "fonts/loop", "maven", "maven/further",
            "maven/m2.conf", "maven/secret", "other", "other/public", "thing", "thing/deep",
            "thing/deep/file", "tool.conf"])

    def test_links_lead_to_copies_and_never_to_files_of_the_host(self):
        self.assertEqual(self.inside("cat /etc/maven/further /usr/share/pointers/a "
                                     "/usr/share/pointers/dir/deep/file"),
                         "content of tool.conf\ncontent of other/public\n"
                         "content of thing/deep/file\n")
        found = self.inside("for f in /etc/maven/secret /usr/share/pointers/[bceghi]; do "
                            "[ -f $f ] && cat $f; done; cat /usr/share/pointers/d")
        self.assertNotIn("content of", found)
        self.assertIn("root:x:0:0:", found)

    def test_files_with_passwords_are_left_out(self):
        """Every user of the host can read these passwords, but a command in a sandbox is no user of the host."""
        for path, text in (("wgetrc", "timeout = 5\nhttp_proxy = http://me:word@proxy:3128/\n"),
                           ("maven/settings.xml", "<settings><server><password>word</password></server></settings>\n"),
                           ("gradle/gradle.properties", "systemProp.http.proxyPassword=word\n"),
                           ("maven/sample.xml", "<!-- <password>none</password> -->\n")):
            self.put(path, 0o644)
            with open(os.path.join(self.etc, path), "w", encoding="ascii") as f:
                f.write(text)
        self.assertEqual(self.inside("cd /etc && find wgetrc maven/s*.xml gradle 2>/dev/null | sort").split(),
                         ["gradle", "maven/sample.xml"])
        self.put("wgetrc", 0o644)
        self.assertEqual(self.inside("cat /etc/wgetrc"), "content of wgetrc\n")
        os.chmod(os.path.join(self.etc, "wgetrc"), 0o640)
        self.assertEqual(self.inside("ls /etc | grep -c wgetrc; true"), "0\n")

    def test_a_change_of_the_configuration_is_seen(self):
        self.assertEqual(self.inside("cat /etc/maven/m2.conf"), "content of maven/m2.conf\n")
        self.put("maven/extensions.xml", 0o644)
        self.assertEqual(self.inside("cat /etc/maven/extensions.xml"),
                         "content of maven/extensions.xml\n")
