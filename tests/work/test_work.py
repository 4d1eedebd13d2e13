"""Tests ordinary work, which must not break when the isolation gets stricter."""

import os
import shutil
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))

from debian import closure, copy_packages  # noqa: E402
from harness import ONE_ID, CordonTest  # noqa: E402


class WorkTest(CordonTest):
    timeout = 180

    def needs(self, *programs):
        for program in programs:
            if not shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin"):
                self.not_run(f"{program} is not installed")

    def python(self, box, script, **kwargs):
        got = box.exec("/usr/bin/python3", "-c", textwrap.dedent(script), timeout=120, **kwargs)
        self.assertEqual(got.code, 0, got)
        return got.text


class Work(WorkTest):
    def test_gcc_and_make(self):
        self.needs("gcc", "make")
        box = self.create("-w", "/root")
        box.out(r"""printf '#include <stdio.h>\nint main(void){puts("built");}\n' > a.c
                    printf 'a: a.c\n\tgcc -O2 -o a a.c\n' > Makefile; make -s; ./a""")
        self.assertEqual(box.out("./a"), "built")

    def test_git(self):
        self.needs("git")
        box = self.create("-w", "/root", "-e", "GIT_CONFIG_NOSYSTEM=1")
        self.assertEqual(box.out("""
            git init -q r; cd r; git config user.email a@b; git config user.name n
            seq 1000 > f; git add f; git commit -qm one; git checkout -qb side; echo x >> f
            git commit -qam two; git checkout -q -; git merge -q side; git gc -q
            git clone -q . ../copy; git -C ../copy log --oneline | wc -l"""), "2")

    def test_python_venv(self):
        self.needs("python3")
        box = self.create("-w", "/root")
        got = box.sh("/usr/bin/python3 -m venv --without-pip v && v/bin/python -c "
                     "'import sys; print(sys.prefix)'")
        self.assertEqual(got.text, "/root/v\n", got)

    def test_python_multiprocessing(self):
        self.assertEqual(self.python(self.create(), """
            from multiprocessing import Pool
            def f(x): return x * x
            if __name__ == '__main__':
                with Pool(4) as p: print(sum(p.map(f, range(1000))))
            """), "332833500\n")

    def test_python_threads_and_asyncio(self):
        self.assertEqual(self.python(self.create(), """
            import asyncio, threading, subprocess
            ts = [threading.Thread(target=lambda: None) for _ in range(200)]
            [t.start() for t in ts]; [t.join() for t in ts]
            async def main():
                s = await asyncio.start_server(lambda r, w: w.close(), '127.0.0.1', 0)
                r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
                await r.read()
                p = await asyncio.create_subprocess_exec('true')
                print(await p.wait())
            asyncio.run(main())
            """), "0\n")

    def test_sqlite_write_storm(self):
        self.assertEqual(self.python(self.create("-w", "/root"), """
            import sqlite3
            for mode in ('DELETE', 'WAL'):
                c = sqlite3.connect(mode + '.db'); c.execute('pragma journal_mode=' + mode)
                c.execute('create table t(a)')
                for i in range(200):
                    c.execute('insert into t values(?)', (i,)); c.commit()
                print(c.execute('select count(*) from t').fetchone()[0])
            """), "200\n200\n")

    def test_dpkg_installs_a_local_package(self):
        self.needs("dpkg-deb", "dpkg")
        shared = os.path.join(self.dir, "shared")
        os.mkdir(shared)
        box = self.create("-w", "/root", "-v", f"{shared}:/w")
        got = box.sh("""set -e
            mkdir -p p/DEBIAN p/opt/hello
            printf 'Package: hello-local\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\n' > c
            printf 'Description: x\n' >> c; mv c p/DEBIAN/control; echo hi > p/opt/hello/f
            cp /bin/true p/opt/hello/program; chmod 6755 p/opt/hello/program
            dpkg-deb -b p hello.deb >/dev/null
            mkdir -p adm/info adm/updates; : > adm/status; : > adm/available
            dpkg --admindir=/root/adm -i hello.deb >/dev/null; cat /opt/hello/f
            stat -c %a /opt/hello/program""")
        self.assertEqual((got.code, got.text), (0, "hi\n6755\n"), got)
        # copying to a directory of the host works, but the set-id bits are lost
        got = box.sh("""set -e; cd /w; cp -a /opt/hello/program cp; install -m 4755 /opt/hello/program install
            mkdir tar; tar -C /opt/hello -cf - program | tar -C tar -xpf -
            cp -a /opt/hello dir; stat -c %a cp install tar/program dir/program""")
        self.assertEqual((got.code, got.text), (0, "755\n" * 4), got)

    def test_su_and_ids(self):
        self.needs("su", "setpriv")
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create()
        got = box.sh("setpriv --reuid 33 --regid 33 --clear-groups id -u")
        self.assertEqual(got.text, "33\n", got)

    def test_tar_keeps_owners(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create("-w", "/root")
        self.assertEqual(box.out("mkdir a; touch a/f; chown 12:34 a/f; tar cf t.tar a; rm -r a; "
                                 "tar xf t.tar; stat -c %u:%g a/f"), "12:34")

    def test_gdb_style_tracing_of_own_children(self):
        self.needs("strace")
        got = self.create().sh("strace -f -o /root/t sh -c 'true; cat /dev/null'; wc -l < /root/t")
        self.assertEqual(got.code, 0, got)

    def test_tmux(self):
        self.needs("tmux")
        box = self.create("-e", "TERM=xterm", "-e", "LANG=C.UTF-8")
        box.out("tmux -L t new-session -d -s s 'echo in-tmux > /root/f; sleep 100'")
        self.eventually(lambda: box.sh("cat /root/f").text == "in-tmux\n")

    def test_node(self):
        self.needs("node")
        got = self.create().exec("node", "-e", "console.log([1,2].map(x=>x*2).join())")
        self.assertEqual(got.text, "2,4\n", got)

    def test_npm_installs_a_local_archive(self):
        self.needs("npm")
        box = self.create("-w", "/root")
        got = box.sh("""set -e; mkdir m app
            echo '{"name": "localpkg", "version": "1.0.0", "main": "i.js"}' > m/package.json
            echo 'module.exports = 7' > m/i.js; npm pack --silent ./m >/dev/null; cd app
            npm install --silent --offline --no-audit --no-fund ../localpkg-1.0.0.tgz >/dev/null
            node -e 'console.log(require("localpkg"))'""", timeout=120)
        self.assertEqual((got.code, got.text), (0, "7\n"), got)

    def test_pip_installs_a_local_archive(self):
        self.needs("pip3")
        box = self.create("-w", "/root")
        got = box.sh("""set -e; mkdir -p m/localpkg; echo 'X = 7' > m/localpkg/__init__.py
            echo 'from setuptools import setup' > m/setup.py
            echo 'setup(name="localpkg", version="1", packages=["localpkg"])' >> m/setup.py
            pip3 install -q --no-index --no-build-isolation --break-system-packages --target t ./m
            PYTHONPATH=t /usr/bin/python3 -c 'import localpkg; print(localpkg.X)'""", timeout=120)
        self.assertEqual(got.text, "7\n", got)

    def test_shell_job_storm(self):
        script = "for i in $(seq 200); do (echo $i | cat | cat > /dev/null) & done; wait; echo ok"
        self.assertEqual(self.create().out(script), "ok")

    def test_big_files(self):
        box = self.create("-w", "/root")
        self.assertEqual(box.out("head -c 200M /dev/zero > f; stat -c %s f; rm f"), "209715200")



class DebianRoot(WorkTest):
    """Ordinary work in a root directory with Debian's own package manager, su and sudo. Root can work there as on a
    Debian machine."""

    def debian(self):
        self.needs("dpkg", "su", "sudo")
        root = os.path.join(self.dir, "debian")
        os.mkdir(root)
        copy_packages(closure(("base-files", "bash", "coreutils", "dash", "diffutils", "dpkg", "grep",
                               "libc-bin", "login", "passwd", "sed", "sudo", "tar", "util-linux")), root)
        for name in ("dev", "proc", "sys", "run", "tmp", "root", "home/w", "etc/sudoers.d",
                     "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log", "var/mail"):
            os.makedirs(os.path.join(root, name), exist_ok=True)
        files = {
            "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nw:x:1000:1000::/home/w:/bin/sh\n",
            "etc/group": "root:x:0:\nw:x:1000:\n", "etc/shadow": "root:*:1::::::\nw:*:1::::::\n",
            "var/lib/dpkg/status": "", "var/lib/dpkg/available": "",
            "etc/sudoers": "root ALL=(ALL:ALL) ALL\nw ALL=(ALL) NOPASSWD: ALL\n",
        }
        # what pam-auth-update would write: accounts come from files only
        for part in ("auth", "account", "password", "session", "session-noninteractive"):
            kind = part.split("-")[0]
            files[f"etc/pam.d/common-{part}"] = f"{kind} required pam_unix.so\n"
        for name, text in files.items():
            with open(os.path.join(root, name), "w") as handle:
                handle.write(text)
        os.chmod(os.path.join(root, "etc/sudoers"), 0o440)
        for program in ("su", "sudo"):  # tar drops the set-user-id bit for an ordinary user
            os.chmod(os.path.join(root, "usr/bin", program), 0o4755)
        return self.create(image=root)

    def test_dpkg_installs_and_removes(self):
        box = self.debian()
        got = box.sh("""set -e; cd /root; mkdir -p p/DEBIAN p/opt/hello
            printf 'Package: hello-local\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\n' > c
            printf 'Description: x\n' >> c; mv c p/DEBIAN/control; echo hi > p/opt/hello/f
            printf '#!/bin/sh\necho configured > /opt/hello/g\n' > p/DEBIAN/postinst
            chmod 755 p/DEBIAN/postinst; dpkg-deb --root-owner-group -b p hello.deb >/dev/null
            dpkg -i hello.deb >/dev/null; cat /opt/hello/f /opt/hello/g
            dpkg -r hello-local >/dev/null; test ! -e /opt/hello/f""")
        self.assertEqual((got.code, got.text), (0, "hi\nconfigured\n"), got)

    def test_su_and_sudo(self):
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.debian()
        got = box.sh("su w -c 'id -u'; sudo -u w id -u; su w -c 'sudo id -u'")
        self.assertEqual(got.text, "1000\n1000\n0\n", got)
        got = box.exec("sudo", "id", "-u", opts=("-u", "w"))
        self.assertEqual((got.code, got.text), (0, "0\n"), got)
