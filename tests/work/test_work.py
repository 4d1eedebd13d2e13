"""Ordinary work that must go on working while the walls get higher."""

import os
import shutil
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))

from harness import ONE_ID, CordonTest  # noqa: E402


class Work(CordonTest):
    timeout = 180

    def needs(self, *programs):
        for program in programs:
            if not shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin"):
                self.not_run(f"{program} is not installed")

    def python(self, box, script, **kwargs):
        got = box.exec("/usr/bin/python3", "-c", textwrap.dedent(script), timeout=120, **kwargs)
        self.assertEqual(got.code, 0, got)
        return got.text

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
        if ONE_ID:
            self.not_run("one id only: no other user inside")
        box = self.create("-w", "/root")
        got = box.sh("""set -e
            mkdir -p p/DEBIAN p/opt/hello
            printf 'Package: hello-local\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\n' > c
            printf 'Description: x\n' >> c; mv c p/DEBIAN/control; echo hi > p/opt/hello/f
            dpkg-deb -b p hello.deb >/dev/null
            mkdir -p adm/info adm/updates; : > adm/status; : > adm/available
            dpkg --admindir=/root/adm -i hello.deb >/dev/null; cat /opt/hello/f""")
        self.assertEqual((got.code, got.text), (0, "hi\n"), got)

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

