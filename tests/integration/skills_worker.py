"""Talks to cordon-skills as its owner does (src/wire/skills.h)."""

import io
import json
import os
import socket
import stat
import struct
import subprocess
import warnings
import zipfile

from harness import CORDON, SLOW, CordonTest

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(CORDON)), "libexec", "cordon", "cordon-skills")
TENANT = "ws-54ad3400d9384ce8d10ae863"
ANSWER_SECONDS = 30 * SLOW
FIELDS = ["name", "display_name", "description", "instructions", "package_root", "entry_file", "python_project",
          "created_at", "updated_at"]


class Worker:
    """One running cordon-skills. `hello` is the first message of this worker."""

    def __init__(self, test, root, source=None):
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(ANSWER_SECONDS)
        self.process = subprocess.Popen([PROGRAM, root] + ([source] if source else []), stdin=theirs, cwd=test.dir,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=test.environment())
        theirs.close()
        test.spawned.append(self.process)
        test.addCleanup(self.socket.close)
        self.hello = self.receive()

    def receive(self):
        """Returns a reply, or None at the end of the stream."""
        head = self.exactly(4)
        return None if head is None else json.loads(self.exactly(struct.unpack("<I", head)[0]))

    def exactly(self, n):
        got = bytearray()
        while len(got) < n:
            try:
                piece = self.socket.recv(n - len(got))
            except ConnectionResetError:
                piece = b""
            if not piece:
                return None
            got += piece
        return bytes(got)

    def send(self, body, *files):
        """Sends BODY: bytes, or a value that becomes JSON."""
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        head = struct.pack("<I", len(body))
        if files:
            socket.send_fds(self.socket, [head], list(files))
        else:
            self.socket.sendall(head)
        self.socket.sendall(body)

    def ask(self, op, data=None, tenant=TENANT, file=None):
        self.send({"op": op, "tenant": tenant, "data": data or {}}, *([] if file is None else [file]))
        return self.receive()

    def end(self):
        """Closes the owner's end of the socket. Returns the exit status of the worker."""
        self.socket.close()
        return self.process.wait(ANSWER_SECONDS)


class SkillsTest(CordonTest):
    modes = ("root", "user")

    def setUp(self):
        super().setUp()
        self.root = os.path.realpath(os.path.join(self.dir, "skills"))
        self.store = os.path.join(self.root, "tenants", TENANT)
        self.workers = {}

    def worker(self, source=None):
        if source not in self.workers:
            self.workers[source] = Worker(self, self.root, source)
            self.assertEqual(self.workers[source].hello, {"ok": True, "data": {"root": self.root}})
        return self.workers[source]

    # -- asking -------------------------------------------------------------------------------

    def ok(self, op, data=None, **kwargs):
        """Returns the data of the reply. The operation must succeed."""
        got = self.worker().ask(op, data, **kwargs)
        self.assertEqual(got and got.get("ok"), True, got)
        return got["data"]

    def refused(self, text, op, data=None, kind="BoxValidationError", **kwargs):
        got = self.worker().ask(op, data, **kwargs)
        self.assertEqual(got, {"ok": False, "class": kind, "text": text})

    def names(self, **kwargs):
        return [skill["name"] for skill in self.ok("list", **kwargs)["skills"]]

    def create(self, name, **fields):
        return self.ok("create", {"skill": {"name": name, **fields}})["skill"]

    # -- files ----------------------------------------------------------------------------------

    def put(self, path, content="", mode=None, store=None):
        """Writes a file below the directory STORE, or below the tenant's store if STORE is None."""
        path = os.path.join(store or self.store, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as handle:
            handle.write(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            os.chmod(path, mode)
        return path

    def package(self, path, name=None, body="text", store=None):
        """Makes a package below the store without the worker."""
        front = f"---\nname: {name}\n---\n" if name else ""
        return os.path.dirname(self.put(os.path.join(path, "SKILL.md"), front + body, store=store))

    def rubbish(self):
        """Returns the directories that the worker is making or erasing."""
        return [os.path.join(where, name) for where in (self.root, self.store) if os.path.isdir(where)
                for name in os.listdir(where) if name.startswith(".cordon-")]

    def swept(self, within=30):
        """Waits until the worker has erased all deleted directories."""
        self.eventually(lambda: not self.rubbish(), within=within, message=self.rubbish)

    def tree(self, top=None):
        """Returns {path: content, or None for directories} below TOP after all erasing has ended."""
        self.swept()
        found, top = {}, top or self.store
        for where, dirs, files in os.walk(top):
            for name in dirs:
                found[os.path.relpath(os.path.join(where, name), top)] = None
            for name in files:
                path = os.path.join(where, name)
                found[os.path.relpath(path, top)] = os.readlink(path) if os.path.islink(path) else \
                    open(path, "rb").read()
        return found


class Archive:
    """A zip archive in memory. An entry can have any name, also a name that no honest program writes."""

    def __init__(self, files=(), method=zipfile.ZIP_DEFLATED):
        self.bytes = io.BytesIO()
        self.zip = zipfile.ZipFile(self.bytes, "w", method)
        self.method = method
        for name, content in dict(files).items():
            self.add(name, content)

    def add(self, name, content=b"", mode=stat.S_IFREG | 0o644, method=None):
        entry = zipfile.ZipInfo("x")
        entry.filename = name
        entry.external_attr = mode << 16
        entry.compress_type = self.method if method is None else method
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # two entries may have the same name
            self.zip.writestr(entry, content)
        return self

    def done(self):
        self.zip.close()
        return self.bytes.getvalue()

    def file(self, test):
        """Returns a descriptor of the archive, as a server passes it to the worker."""
        return memory_file(test, self.done())


def memory_file(test, content):
    fd = os.memfd_create("upload", os.MFD_CLOEXEC)
    test.addCleanup(os.close, fd)
    with open(fd, "wb", closefd=False) as handle:
        handle.write(content)
    return fd
