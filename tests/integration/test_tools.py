"""Tests `cordon tool read|write|edit|glob|grep`, by which a model handles the files of a workspace."""

import base64
import ctypes
import hashlib
import io
import json
import os
import socket
import subprocess
import threading
import zipfile

from boxpeer import Peer, WebSocketTransport
from test_box import PROGRAM, Server
from test_box_skills import upload
from test_service import ServiceTest
from test_service_endpoint import EndpointTest

RESULT_BYTES = 51200


class FileTest(ServiceTest):
    """Calls tools on a workspace that is a directory of this machine."""

    modes = ("root", "user")

    def setUp(self):
        super().setUp()
        self.work = self.directory("work")
        self.flags = ("--workspace", self.work)

    def path(self, *names):
        return os.path.join(self.work, *names)

    def put(self, name, content=b""):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as handle:
            handle.write(content if isinstance(content, bytes) else content.encode())

    def get(self, name):
        with open(self.path(name), "rb") as handle:
            return handle.read()

    def use(self, tool, *, code=0, flags=None, **parameters):
        """Calls a tool. The parameters go through the standard input, because they may be too large for an argument."""
        got = self.cordon("tool", *(self.flags if flags is None else flags), tool, "-",
                          stdin=json.dumps(parameters).encode())
        self.assertEqual(got.code, code, got)
        if code:
            self.check_failure(got)
        return json.loads(got.text)

    def refused(self, tool, error, kind="BoxValidationError", **parameters):
        """Asserts that the call fails with this message."""
        got = self.use(tool, code=1, **parameters)
        self.assertEqual((got["ok"], got["error"], got["error_type"]), (False, error, kind))
        return got


class Read(FileTest):
    def test_a_text_is_read_whole(self):
        self.put("a/b.txt", "one\ntwo\nthree")
        self.assertEqual(self.use("read", path="/workspace/a/b.txt"),
                         {"ok": True, "content": "one\ntwo\nthree", "truncated": False, "truncated_by": None,
                          "start_line": 1, "end_line": 3, "next_offset": None, "max_lines": 2000,
                          "max_bytes": RESULT_BYTES})

    def test_lines_are_read_in_windows(self):
        self.put("lines", "".join(f"{i}\n" for i in range(1, 101)))
        got = self.use("read", path="/workspace/lines", offset=10, limit=3)
        self.assertEqual((got["content"], got["truncated_by"], got["start_line"], got["end_line"],
                          got["next_offset"], got["max_lines"]), ("10\n11\n12\n", "lines", 10, 12, 13, 3))
        got = self.use("read", path="/workspace/lines", offset=99)
        self.assertEqual((got["content"], got["truncated"], got["next_offset"]), ("99\n100\n", False, None))
        got = self.use("read", path="/workspace/lines", offset=1000)
        self.assertEqual((got["ok"], got["content"], got["truncated"]), (True, "", False))

    def test_limits_are_bounded(self):
        self.put("lines", "x\n" * 11000)
        got = self.use("read", path="/workspace/lines")
        self.assertEqual((got["end_line"], got["truncated_by"]), (2000, "lines"))
        got = self.use("read", path="/workspace/lines", limit=99999)
        self.assertEqual((got["end_line"], got["max_lines"]), (10000, 10000))
        got = self.use("read", path="/workspace/lines", max_bytes=7)
        self.assertEqual((got["content"], got["truncated_by"], got["next_offset"]), ("x\nx\nx\n", "bytes", 4))
        self.put("long", ("y" * 1023 + "\n") * 100)
        got = self.use("read", path="/workspace/long", max_bytes=10**9)
        self.assertEqual((len(got["content"]), got["max_bytes"], got["truncated_by"]),
                         (RESULT_BYTES, RESULT_BYTES, "bytes"))

    def test_a_line_that_is_too_long_becomes_a_hint(self):
        self.put("long", "short\n" + "z" * 60000 + "\nend\n")
        got = self.use("read", path="/workspace/long", offset=2)
        self.assertTrue(got["content"].startswith("[Line 2 is longer than max_bytes (51200 bytes)."), got)
        self.assertTrue(got["content"].endswith("]"))
        self.assertEqual((got["truncated_by"], got["next_offset"]), ("bytes", 3))

    def test_bytes_that_are_no_text_are_replaced(self):
        self.put("bytes", b"a\xffb\xc3\n")
        self.assertEqual(self.use("read", path="/workspace/bytes")["content"], "a\ufffdb\ufffd\n")

    def test_a_directory_is_listed(self):
        for name in ("b", "a", "c/inner", "\u00e4"):
            self.put("dir/" + name)
        self.assertEqual(self.use("read", path="/workspace/dir"),
                         {"ok": True, "content": "a\nb\nc\n\u00e4", "is_directory": True, "total": 4,
                          "truncated": False, "truncated_by": None})

    def test_a_large_directory_is_cut(self):
        os.mkdir(self.path("dir"))
        for i in range(10001):
            os.mknod(self.path("dir", str(i)))
        got = self.use("read", path="/workspace/dir")
        self.assertEqual((got["total"], got["truncated"]), (10001, True))
        self.assertEqual(len(got["content"].split("\n")), 10000)
        self.assertEqual(got["truncated_by"], "lines")
        os.mkdir(self.path("long"))
        for i in range(300):
            os.mknod(self.path("long", f"{i:03}" + "x" * 240))
        got = self.use("read", path="/workspace/long")
        self.assertEqual((got["total"], got["truncated_by"]), (300, "bytes"))
        self.assertLessEqual(len(got["content"]), RESULT_BYTES)

    def test_bytes_are_read_as_base64(self):
        data = bytes(range(256)) * 300
        self.put("data", data)
        got = self.use("read", path="/workspace/data", encoding="base64", byte_offset=100, max_bytes=50)
        self.assertEqual(got, {"ok": True, "content": base64.b64encode(data[100:150]).decode(),
                               "encoding": "base64", "byte_offset": 100, "length": 50, "size_bytes": len(data),
                               "has_more": True, "next_byte_offset": 150, "max_bytes": 50})
        back, at = b"", 0
        while at is not None:
            got = self.use("read", path="/workspace/data", encoding="base64", byte_offset=at)
            back += base64.b64decode(got["content"])
            at = got["next_byte_offset"]
        self.assertEqual(back, data)
        got = self.use("read", path="/workspace/data", encoding="base64", byte_offset=10**12)
        self.assertEqual((got["content"], got["length"], got["has_more"]), ("", 0, False))

    def test_a_huge_file_is_read_from_its_beginning_only(self):
        self.put("huge", "first\n")
        os.truncate(self.path("huge"), 1 << 40)
        got = self.use("read", path="/workspace/huge")
        self.assertEqual((got["content"], got["truncated_by"], got["next_offset"]), ("first\n", "bytes", 2))
        self.refused("read", "Line 3 is more than 268435456 bytes from the beginning of the file.",
                     path="/workspace/huge", offset=3)
        got = self.use("read", path="/workspace/huge", encoding="base64", byte_offset=(1 << 40) - 3)
        self.assertEqual((got["content"], got["has_more"]), ("AAAA", False))

    def test_missing_files_are_named(self):
        self.put("file", "x")
        self.refused("read", "File not found: /workspace/none", path="/workspace/none")
        self.refused("read", "File not found: /workspace/file/below", path="file/below")


    def test_no_text_commands_the_terminal(self):
        text = "\x1b[31m \x7f \u0080 \u009b31m \u009d0;title\u009c \u00a0\u00e9"
        self.put("file", text)
        got = self.cordon("tool", *self.flags, "read", json.dumps({"path": "file"}))
        self.assertEqual(json.loads(got.text)["content"], text)
        for bad in "\x1b\x7f\u0080\u009b\u009c\u009d":
            self.assertNotIn(bad, got.text)


class Write(FileTest):
    def test_a_file_is_made_with_its_directories(self):
        got = self.use("write", path="/workspace/a/b/c.txt", content="h\u00e9llo\x00\n")
        self.assertEqual(got, {"ok": True, "path": "/workspace/a/b/c.txt"})
        self.assertEqual(self.get("a/b/c.txt"), "h\u00e9llo\x00\n".encode())
        self.assertEqual(self.tool("cat a/b/c.txt | wc -c", *self.flags)["stdout"].strip(), "8")
        self.assertEqual(os.listdir(self.path("a/b")), ["c.txt"])

    def test_a_file_is_replaced_and_keeps_its_mode(self):
        self.put("script", "old")
        os.chmod(self.path("script"), 0o755)
        self.use("write", path="/workspace/script", content="new")
        self.assertEqual((self.get("script"), os.stat(self.path("script")).st_mode & 0o7777), (b"new", 0o755))

    def test_content_is_added_at_the_end(self):
        self.use("write", path="/workspace/log", content="a", mode="append")
        self.use("write", path="/workspace/log", content="b", mode="append")
        self.assertEqual(self.get("log"), b"ab")

    def test_base64_content_is_decoded(self):
        data = bytes(range(256)) * 1000
        self.use("write", path="/workspace/data", content=base64.b64encode(data).decode(), encoding="base64")
        self.assertEqual(self.get("data"), data)
        got = self.use("write", code=1, path="/workspace/data", content="AAA", encoding="base64")
        self.assertTrue(got["error"].startswith("invalid base64 content: "), got)
        self.assertEqual(self.get("data"), data)

    def test_a_read_only_workspace_is_not_written(self):
        self.put("file", "old")
        flags = ("--workspace", self.work + ":ro")
        for tool, more in (("write", {"content": "x"}), ("edit", {"old_string": "old", "new_string": "x"})):
            got = self.use(tool, code=1, flags=flags, path="/workspace/file", **more)
            self.assertEqual((got["error"], got["error_type"]),
                             ("The workspace is read-only: /workspace/file", "PermissionError"))
        self.assertEqual(self.get("file"), b"old")
        self.assertEqual(self.use("read", flags=flags, path="/workspace/file")["content"], "old")

    def test_a_directory_is_no_file(self):
        self.put("dir/file")
        self.refused("write", "Path is a directory: /workspace/dir", path="/workspace/dir", content="x")
        self.refused("write", "Path is a directory: /workspace", path="/workspace", content="x")
        self.refused("write", "Path is not a directory: /workspace/dir/file/x", path="dir/file/x", content="x")

    def test_a_killed_write_leaves_no_part_of_a_file(self):
        old, new = b"old", b"new" * 1000000
        self.put("file", old)
        request = self.path("..", "request")
        with open(request, "w", encoding="utf-8") as handle:
            json.dump({"path": "file", "content": new.decode()}, handle)
        for i in range(20):
            with open(request, "rb") as handle:
                process = self.spawn("tool", *self.flags, "write", "-", stdin=handle)
            try:
                process.wait(0.002 * i)
            except subprocess.TimeoutExpired:
                process.kill()
            self.finish(process)
            self.assertIn(self.get("file"), (old, new))
            # a kill directly before the rename leaves the whole new file under its temporary name
            for name in set(os.listdir(self.work)) - {"file"}:
                self.assertRegex(name, r"^\.cordon-new-")
                self.assertEqual(self.get(name), new)
                os.unlink(self.path(name))


class Edit(FileTest):
    def edit(self, old, new, **more):
        return self.use("edit", path="/workspace/file", old_string=old, new_string=new, **more)

    def test_one_place_is_changed(self):
        self.put("file", b"a\xffbc\n")
        os.chmod(self.path("file"), 0o640)
        self.assertEqual(self.edit("b", "XYZ"), {"ok": True, "path": "/workspace/file"})
        self.assertEqual((self.get("file"), os.stat(self.path("file")).st_mode & 0o7777),
                         (b"a\xffXYZc\n", 0o640))
        self.assertEqual(os.listdir(self.work), ["file"])

    def test_the_text_must_occur_exactly_once(self):
        self.put("file", "one two two")
        self.assertEqual(self.edit("three", "x", code=1)["error"], "old_string not found in file.")
        self.assertEqual(self.edit("two", "x", code=1)["error"],
                         "old_string matches 2 locations; provide a more unique string.")
        self.assertEqual(self.edit("", "x", code=1)["error"], "old_string must not be empty")
        self.assertEqual(self.get("file"), b"one two two")

    def test_a_file_has_at_most_a_mebibyte(self):
        limit = "File exceeds the 1048576-byte edit limit."
        self.put("file", b"a" + b"x" * 1048575)
        self.assertTrue(self.edit("a", "b")["ok"])
        self.assertEqual(self.edit("b", "bb", code=1)["error"], limit)
        self.put("file", b"a" + b"x" * 1048576)
        self.assertEqual(self.edit("a", "", code=1)["error"], limit)

    def test_a_missing_file_is_named(self):
        self.assertEqual(self.edit("a", "b", code=1)["error"], "File not found: /workspace/file")


class Glob(FileTest):
    def glob(self, pattern, **more):
        return self.use("glob", pattern=pattern, **more)

    def found(self, pattern, **more):
        return sorted(m.removeprefix("/workspace/") for m in self.glob(pattern, **more)["matches"])

    def test_patterns_match_at_any_depth(self):
        for name in ("a.py", "src/b.py", "src/deep/c.py", "src/deep/c.txt", ".hidden/d.py"):
            self.put(name)
        for pattern, names in (("*.py", [".hidden/d.py", "a.py", "src/b.py", "src/deep/c.py"]),
                               ("src/*.py", ["src/b.py"]), ("deep/*", ["src/deep/c.py", "src/deep/c.txt"]),
                               ("src/**/*.py", ["src/b.py", "src/deep/c.py"]), ("**/a.py", ["a.py"]),
                               ("/workspace/src/?.py", ["src/b.py"]), ("[!a].py", [".hidden/d.py", "src/b.py",
                                                                              "src/deep/c.py"]),
                               ("none", [])):
            with self.subTest(pattern):
                self.assertEqual(self.found(pattern), names)
        self.assertEqual(self.found("*", path="/workspace/src/deep"), ["src/deep/c.py", "src/deep/c.txt"])

    def test_the_newest_come_first(self):
        for i in range(150):
            self.put(f"f{i:03}")
            os.utime(self.path(f"f{i:03}"), (i, i))
        got = self.glob("f*")
        names = [f"/workspace/f{i:03}" for i in range(149, 49, -1)]
        self.assertEqual((got["matches"], got["preview"]), (names, "\n".join(names)))
        self.assertEqual((got["ok"], got["total"], got["truncated"], got["truncated_by"]), (True, 150, True, "matches"))

    def test_a_result_has_a_size(self):
        deep = "/".join(["d" * 200] * 5)
        for i in range(60):
            self.put(f"{deep}/{i}")
        got = self.glob("*")
        self.assertEqual((got["total"], got["truncated_by"]), (60, "bytes"))
        self.assertLessEqual(len(got["preview"]), RESULT_BYTES)

    def test_some_directories_and_links_are_left_out(self):
        for name in (".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", "dist", "build", "src"):
            self.put(f"{name}/file")
        os.symlink("src", self.path("link"))
        os.symlink("src/file", self.path("file"))
        self.assertEqual(self.found("file"), ["src/file"])

    def test_a_huge_tree_is_scanned_in_part(self):
        for i in range(101):
            os.mkdir(self.path(str(i)))
            for k in range(1000):
                os.mknod(self.path(str(i), str(k)))
        got = self.glob("nothing")
        self.assertEqual((got["total"], got["truncated_by"]), (0, "scan"))
        self.assertEqual(self.use("grep", pattern="x")["truncated_by"], "scan")

    def test_a_costly_pattern_does_not_run_on(self):
        deep = "/".join(["a" * 200] * 12)
        for i in range(1500):
            self.put(f"{deep}/{'a' * 200}{i}")
        got = self.glob("*" + ("[" + "b" * 1300 + "a]") * 3 + "c")
        self.assertEqual((got["total"], got["truncated_by"]), (0, "scan"))

    def test_failures_are_named(self):
        self.put("file")
        self.refused("glob", "Path not found: /workspace/none", pattern="*", path="/workspace/none")
        self.refused("glob", "Path is not a directory: /workspace/file", pattern="*", path="file")
        self.refused("glob", "Pattern must be relative, without '..': ../*", pattern="../*")
        self.refused("glob", "Pattern must be relative, without '..': /etc/*", pattern="/etc/*")
        self.refused("glob", "pattern is required")


class Grep(FileTest):
    def grep(self, pattern, **more):
        return self.use("grep", pattern=pattern, **more)

    def test_matching_lines_are_shown_with_their_places(self):
        self.put("a.txt", "one\nneedle\r\nthree needle")
        self.put("sub/b.py", "x = 'needle'\n")
        got = self.grep("needle")
        got["matches"].sort(key=lambda m: (m["file"], m["line"]))
        self.assertEqual(got, {"ok": True, "total": 3, "truncated": False, "truncated_by": None, "matches": [
            {"file": "/workspace/a.txt", "line": 2, "content": "needle"},
            {"file": "/workspace/a.txt", "line": 3, "content": "three needle"},
            {"file": "/workspace/sub/b.py", "line": 1, "content": "x = 'needle'"}]})
        self.assertEqual([m["file"] for m in self.grep("n.*e", include="*.py")["matches"]], ["/workspace/sub/b.py"])
        self.assertEqual([m["line"] for m in self.grep("^n", path="/workspace/a.txt")["matches"]], [2])
        self.assertEqual(self.grep("needle", path="/workspace/sub")["total"], 1)
        self.assertEqual(self.grep("nowhere")["matches"], [])

    def test_expressions_see_one_line_and_any_bytes(self):
        self.put("file", b"a\nb \xff needle \xc3\xa9\n")
        self.assertEqual(self.grep("a\\sb")["total"], 0)
        got = self.grep("needle \u00e9$")
        self.assertEqual(got["matches"][0]["content"], "b \ufffd needle \u00e9")
        self.assertEqual(self.grep("(?i)NEEDLE")["total"], 1)

    def test_the_number_of_matches_is_bounded(self):
        self.put("file", "x\n" * 201)
        got = self.grep("x")
        self.assertEqual((got["total"], len(got["matches"]), got["truncated_by"]), (200, 200, "matches"))

    def test_long_lines_are_cut(self):
        self.put("file", "x" + "y" * 600 + "\n")
        got = self.grep("x")
        self.assertEqual(got["matches"][0]["content"], "x" + "y" * 499 + "... [truncated]")
        self.assertEqual(got["truncated_by"], "line")
        self.put("file", "y" * 1048576 + "needle\n")
        self.assertEqual((self.grep("needle")["total"], self.grep("needle")["truncated_by"]), (0, "line"))
        self.put("file", "y" * 1048570 + "needle\n")
        self.assertEqual(self.grep("needle")["total"], 1)

    def test_the_size_of_a_result_is_bounded(self):
        self.put("file", ("x" + "y" * 490 + "\n") * 150)
        got = self.grep("x")
        self.assertEqual(got["truncated_by"], "bytes")
        self.assertLessEqual(sum(len(m["content"]) for m in got["matches"]), RESULT_BYTES)

    def test_a_file_and_all_files_are_read_in_part(self):
        self.put("big", b"")
        os.truncate(self.path("big"), 10485760)
        with open(self.path("big"), "ab") as handle:
            handle.write(b"\nneedle\n")
        got = self.grep("needle")
        self.assertEqual((got["total"], got["truncated_by"]), (0, "scan"))
        os.remove(self.path("big"))
        for i in range(5001):
            os.mknod(self.path(str(i)))
        self.assertEqual(self.grep("needle")["truncated_by"], "scan")
        os.remove(self.path("0"))
        self.assertEqual(self.grep("needle")["truncated_by"], None)

    def test_all_files_together_have_a_limit(self):
        for i in range(5):
            self.put(str(i), b"y\n" * 5242880)
        got = self.grep("needle")
        self.assertEqual((got["total"], got["truncated_by"]), (0, None))
        self.put("one more", "x\n")
        self.assertEqual(self.grep("needle")["truncated_by"], "scan")

    def test_expressions_that_explode_do_no_harm(self):
        self.put("file", "a" * 5000 + "!\n" + "ab" * 2000 + "\n")
        for pattern in (r"(a*)*b\1$", r"(?:a|a)*$", r"(a|aa)+$", r"^(?:(a+)+)+$", r"(.*)*x", r"(?R)*b", r"((?1)?a)*!",
                        r"(a?){500}a{500}!", r"(?=(a+))\1\1\1x", r"(*LIMIT_MATCH=4294967295)^(a+)+$", r"(\w+\s*)+:",
                        r"((a{0,200}){0,200}){0,200}", "(" * 500 + "a" + ")" * 500, "(?:a{1,999}){1,999}b",
                        "[" + "".join(chr(i) for i in range(0x100, 0x300)) + "]{9,}", r"(?<=a{1,255}b)x",
                        r"(?C255)a(?C'x')", r"(*MARK:x)a(*COMMIT)b", r"\p{L}*+\d", "(?<n>a)" * 100 + r"\k<n>"):
            got = self.cordon("tool", *self.flags, "grep", json.dumps({"pattern": pattern}))
            with self.subTest(pattern=pattern[:40]):
                answer = json.loads(got.text)
                self.assertTrue(answer["ok"] or answer["error"].startswith(("Invalid regex: ", "Regex search timed")),
                                answer)

    def test_an_expression_that_explodes_is_stopped(self):
        self.put("file", "a" * 40 + "!\n")
        got = self.refused("grep", "Regex search timed out", pattern="^(a+)+$")
        self.assertIn("simpler", got["hint"])
        # each line stays below the limit of one match, but all lines together take too long
        self.put("file", ("a" * 16 + "!\n") * 10000)
        self.refused("grep", "Regex search timed out", pattern="^(a+)+$")

    def test_bad_expressions_are_named(self):
        got = self.use("grep", code=1, pattern="(")
        self.assertTrue(got["error"].startswith("Invalid regex: "), got)
        got = self.use("grep", code=1, pattern="\\C")
        self.assertTrue(got["error"].startswith("Invalid regex: "), got)
        self.assertTrue(self.grep("a" * 1024)["ok"])
        self.refused("grep", "pattern must have at most 1024 characters", pattern="a" * 1025)
        self.refused("grep", "Path not found: /workspace/none", pattern="x", path="none")
        self.refused("grep", "Pattern must be relative, without '..': ../x", pattern="x", include="../x")

    def test_special_files_and_links_are_left_out(self):
        os.mkfifo(self.path("fifo"))
        os.symlink("/etc/passwd", self.path("link"))
        self.put("node_modules/file", "root")
        self.assertEqual(self.grep("root")["matches"], [])


class BadInput(FileTest):
    CALLS = (("read", {}), ("write", {"content": "x"}), ("edit", {"old_string": "a", "new_string": "b"}),
             ("glob", {"pattern": "*"}), ("grep", {"pattern": "a"}))

    def test_paths_outside_are_refused(self):
        for tool, more in self.CALLS:
            for path in ("/etc/passwd", "/", "/workspacex", "//workspace/a", self.work):
                with self.subTest(tool=tool, path=path):
                    self.refused(tool, "Path must be under /workspace.", path=path, **more)
            for path in ("..", "/workspace/../etc/passwd", "a/../../b", "/workspace/../workspace/x"):
                with self.subTest(tool=tool, path=path):
                    self.refused(tool, f"Path escapes the workspace boundary: {path}", path=path, **more)

    def test_links_are_never_followed(self):
        outside = self.directory("outside")
        with open(os.path.join(outside, "secret"), "w", encoding="utf-8") as handle:
            handle.write("a")
        os.symlink(outside, self.path("out"))
        os.symlink(os.path.join(outside, "secret"), self.path("file"))
        os.symlink("/proc/self/root", self.path("magic"))
        for tool, more in self.CALLS:
            for path in ("out/secret", "file", "magic" + outside + "/secret", "out/new/deep"):
                with self.subTest(tool=tool, path=path):
                    shown = "/workspace/" + path
                    got = self.cordon("tool", *self.flags, tool, json.dumps({"path": shown, **more}))
                    self.assertEqual((got.code, json.loads(got.text)["error"]),
                                     (1, f"Path escapes the workspace boundary: {shown}"))
        self.assertEqual(os.listdir(outside), ["secret"])

    def test_special_files_are_not_opened(self):
        os.mkfifo(self.path("fifo"))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path("socket"))
        for tool, more in self.CALLS:
            for name in ("fifo", "socket"):
                self.refused(tool, f"Not a regular file: /workspace/{name}", path=name, **more)
        self.assertEqual(self.use("write", code=1, path="fifo", content="x", mode="append")["error"],
                         "Not a regular file: /workspace/fifo")

    def test_wrong_parameters_are_named(self):
        for tool, parameters, error in (
                ("read", {}, "path is required"),
                ("read", {"path": 5}, "path must be a string"),
                ("read", {"path": None}, "path is required"),
                ("read", {"path": "a\0b"}, "path must not contain NUL characters"),
                ("read", {"path": "a" * 5000}, "path must be at most 4095 bytes long"),
                ("read", {"path": "a", "offset": 0}, "offset must be at least 1"),
                ("read", {"path": "a", "offset": "many"}, "offset must be an integer"),
                ("read", {"path": "a", "limit": []}, "limit must be an integer"),
                ("read", {"path": "a", "encoding": "utf"}, "encoding must be 'text' or 'base64'"),
                ("write", {"path": "a"}, "content is required"),
                ("write", {"path": "a", "content": {}}, "content must be a string"),
                ("write", {"path": "a", "content": "", "mode": "x"}, "mode must be 'overwrite' or 'append'"),
                ("edit", {"path": "a", "old_string": "x"}, "new_string is required")):
            with self.subTest(error):
                self.refused(tool, error, **parameters)
        self.assertEqual(os.listdir(self.work), [])
        got = self.call("tool", *self.flags, "read", "[]", code=1)
        self.assertEqual(got["error"], "parameters must be an object")
        got = self.call("tool", *self.flags, "read", "{", code=1)
        self.assertEqual(got["error_type"], "BoxValidationError")

    def test_numbers_may_be_texts(self):
        self.put("lines", "".join(f"{i}\n" for i in range(1, 101)))
        for offset, limit in (("10", "3"), (10.0, 3.0), (" 10 ", "+3"), ("1_0", "3.0")):
            got = self.use("read", path="lines", offset=offset, limit=limit)
            self.assertEqual((got["content"], got["max_lines"]), ("10\n11\n12\n", 3))
        for bad in ("", "ten", "1e1", 2.5, "2.5", "0x1", 10**30, "9" * 400, "NaN", [], {}, "\u0661"):
            with self.subTest(bad):
                self.refused("read", "offset must be an integer", path="lines", offset=bad)
        self.refused("read", "byte_offset must be at least 0", path="lines", byte_offset=-1)
        self.refused("read", "limit must be at least 1", path="lines", limit="-5")

    def test_huge_texts(self):
        huge = "x" * (10 << 20)
        self.refused("read", "path must be at most 4095 bytes long", path=huge)
        self.refused("glob", "a pattern has at most 4096 bytes", pattern=huge)
        self.refused("glob", "Pattern has too many components: " + "/".join(["a"] * 65), pattern="/".join(["a"] * 65))
        self.refused("grep", "pattern must have at most 1024 characters", pattern=huge)
        self.refused("grep", "a pattern has at most 4096 bytes", pattern="x", include=huge)
        self.put("file", "x")
        self.refused("edit", "old_string not found in file.", path="file", old_string=huge, new_string="")
        self.refused("edit", "File exceeds the 1048576-byte edit limit.", path="file", old_string="x", new_string=huge)
        self.use("write", path="file", content=huge)
        self.assertEqual(os.stat(self.path("file")).st_size, 10 << 20)
        got = self.cordon("tool", *self.flags, "write", "-", stdin=json.dumps({"path": "file", "content": "y" * (17 << 20)}).encode())
        self.assertEqual((got.code, json.loads(got.text)["error_type"]), (1, "BoxValidationError"))
        self.assertEqual(os.stat(self.path("file")).st_size, 10 << 20)

    def test_bytes_that_are_no_text(self):
        for text in (b'{"path": "\xff"}', b'{"path": "a', b"\x00", b'{"path": "a", "path": 5}', b"[" * 100000, b""):
            got = self.cordon("tool", *self.flags, "read", "-", stdin=text)
            self.assertEqual(got.code, 1, text[:20])
            self.assertEqual(json.loads(got.text)["error_type"], "BoxValidationError")
        # half of a surrogate pair, as Python writes it
        self.refused("write", "Path escapes the workspace boundary: ../\ufffd", path="../\ud800", content="")
        os.mkdir(os.fsencode(self.work) + b"/a\xff")
        with open(os.fsencode(self.work) + b"/a\xff/b\xfe", "wb") as handle:
            handle.write(b"needle \xff\n")
        self.assertEqual(self.use("read", path="/workspace")["content"], "a\ufffd")
        self.assertEqual(self.use("glob", pattern="b?")["matches"], ["/workspace/a\ufffd/b\ufffd"])
        self.assertEqual(self.use("grep", pattern="needle")["matches"],
                         [{"file": "/workspace/a\ufffd/b\ufffd", "line": 1, "content": "needle \ufffd"}])

    def test_a_tree_that_changes_while_it_is_searched_harms_nothing(self):
        for i in range(200):
            self.put(f"{i}/file", "needle\n" * 3)
        done = threading.Event()

        def change():
            k = 0
            while not done.is_set():
                k = (k + 1) % 200
                os.rename(self.path(str(k)), self.path(f"{k}x"))
                self.put(f"{k}x/file", "needle\n" * (k % 7))
                os.rename(self.path(f"{k}x"), self.path(str(k)))

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(10):
                self.assertTrue(self.use("glob", pattern="*")["ok"])
                self.assertEqual({m["content"] for m in self.use("grep", pattern="needle")["matches"]}, {"needle"})
        finally:
            done.set()
            thread.join()

    def test_an_edit_of_a_file_that_changes_is_refused_or_whole(self):
        self.put("file", "line\n" * 100 + "here\n")
        done = threading.Event()

        def change():
            while not done.is_set():
                with open(self.path("new"), "w", encoding="utf-8") as handle:
                    handle.write("line\n" * 100 + "here\n")
                os.rename(self.path("new"), self.path("file"))

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(20):
                got = self.cordon("tool", *self.flags, "edit", json.dumps(
                    {"path": "file", "old_string": "here", "new_string": "HERE"}))
                answer = json.loads(got.text)
                self.assertIn(answer.get("error"), (None, "old_string not found in file.",
                                                    "File changed while it was being edited: /workspace/file",
                                                    "File not found: /workspace/file"))
                self.assertIn(self.get("file")[500:], (b"here\n", b"HERE\n"))
        finally:
            done.set()
            thread.join()

    def test_a_command_needs_time(self):
        self.refused("exec", "timeout_sec must be greater than 0", command="true", timeout_sec=0)
        self.refused("exec", "command is required", workdir="/workspace")
        got = self.use("exec", command="echo $X", env={"X": "1"}, description="prints", timeout_sec="5")
        self.assertEqual(got["stdout"], "1")

    def test_a_file_that_changes_while_it_is_read_harms_nothing(self):
        self.put("file", "line\n" * 10000)
        done = threading.Event()

        def change():
            while not done.is_set():
                os.truncate(self.path("file"), 0)
                self.put("file", "line\n" * 10000)

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(20):
                content = self.use("read", path="/workspace/file")["content"]
                self.assertEqual(content.replace("line\n", ""), "")
        finally:
            done.set()
            thread.join()


class InTheSandbox(FileTest):
    """The workspace exists in the sandbox only, so every tool runs a shell there. This class tests read, write and
    edit; the class Inside tests all tools."""

    def setUp(self):
        super().setUp()
        self.flags = ()

    def test_files_are_written_read_and_edited(self):
        self.assertEqual(self.use("write", path="/workspace/a b/it's", content="one\ntwo\n\n"),
                         {"ok": True, "path": "/workspace/a b/it's"})
        self.use("write", path="a b/it's", content="three", mode="append")
        self.assertEqual(self.use("read", path="a b/it's")["content"], "one\ntwo\n\nthree")
        self.use("edit", path="a b/it's", old_string="two", new_string="2")
        got = self.use("read", path="a b/it's", offset=2, limit=1)
        self.assertEqual((got["content"], got["start_line"], got["end_line"], got["next_offset"],
                          got["truncated_by"]), ("2\n", 2, 2, 3, "lines"))
        self.assertEqual(self.tool("cat \"a b/it's\"")["stdout"], "one\n2\n\nthree")
        self.assertEqual(self.use("read", path="/workspace")["content"], "a b")

    def test_a_read_returns_two_kibibytes(self):
        self.use("write", path="long", content="x" * 99 + "\n" + ("y" * 99 + "\n") * 50)
        got = self.use("read", path="long")
        self.assertEqual((len(got["content"]), got["truncated_by"], got["max_bytes"], got["next_offset"]),
                         (2000, "bytes", 2048, 21))
        got = self.use("read", path="long", encoding="base64", byte_offset=5000)
        self.assertEqual((got["length"], got["size_bytes"], got["has_more"]), (100, 5100, False))
        self.use("write", path="line", content="z" * 3000)
        self.assertTrue(self.use("read", path="line")["content"].startswith("[Line 1 is longer"))

    def test_large_files_are_edited_in_pieces(self):
        self.use("write", path="big", content="a" + "x" * 1048575)
        self.use("edit", path="big", old_string="a", new_string="b")
        self.assertEqual(self.tool("wc -c < big; head -c 2 big")["stdout"], "1048576\nbx")
        self.assertEqual(self.use("edit", code=1, path="big", old_string="b", new_string="bb")["error"],
                         "File exceeds the 1048576-byte edit limit.")

    def test_failures_are_named(self):
        self.tool("mkdir dir; mkfifo fifo")
        self.refused("read", "File not found: /workspace/none", path="none")
        self.refused("edit", "File not found: /workspace/none", path="none", old_string="a", new_string="b")
        self.refused("read", "Not a regular file: /workspace/fifo", path="fifo")
        self.refused("write", "Not a regular file: /workspace/fifo", path="fifo", content="x")
        self.refused("write", "Path is a directory: /workspace/dir", path="dir", content="x")
        self.refused("read", "Path must be under /workspace.", path="/etc/passwd")


class Quota(FileTest):
    """Tests what `write` and `edit` may add to a workspace with a quota of one MiB and ten entries."""

    modes = ("user",)

    def setUp(self):
        super().setUp()
        self.work = self.directory("root", "default")
        self.flags = ("--config", self.config(box={"local": {"host_root": self.directory("root"),
                                                            "workspace_quota_mb": 1},
                                                  "limits": {"max_workspace_entries": 10}}))

    def full(self, phase, used, entries=1):
        return (f"workspace quota exceeded {phase} execution: used={used} bytes limit=1048576 bytes "
                f"entries={entries} host_path=/workspace session_id=query_unknown")

    def test_a_write_that_fills_the_workspace_ends_the_session(self):
        self.tool("true", *self.flags)
        self.assertEqual(len(self.call("service", "sessions")), 1)
        got = self.refused("write", self.full("after", 1048577), path="big", content="x" * 1048577)
        self.assertIn("full", got["hint"])
        self.assertEqual(self.call("service", "sessions"), [])
        self.assertEqual([e["type"] for e in self.call("service", "errors")], ["BoxValidationError"])

    def test_a_write_up_to_the_quota_passes(self):
        self.use("write", path="big", content="x" * 1048576)

    def test_an_edit_that_fills_the_workspace_fails(self):
        self.put("a", "x" * 1000)
        self.put("big", "a" + "y" * (1048576 - 1002))
        self.use("edit", path="big", old_string="a", new_string="bb")
        self.refused("edit", self.full("after", 1048577, 2), path="big", old_string="bb", new_string="bbb")

    def test_a_full_workspace_takes_no_write(self):
        self.put("big", "x" * 1048577)
        self.refused("write", self.full("before", 1048577), path="small", content="")
        self.refused("edit", self.full("before", 1048577), path="big", old_string="x", new_string="")
        self.assertEqual(os.listdir(self.work), ["big"])
        self.assertTrue(self.use("read", path="big", limit=1)["ok"])
        self.assertEqual(self.use("glob", pattern="*")["total"], 1)

    def test_the_number_of_entries_is_limited(self):
        for i in range(10):
            self.put(str(i))
        self.refused("write", "workspace entry limit exceeded after execution: entries>10 host_path=/workspace "
                              "session_id=query_unknown", path="new", content="")


class Skills(FileTest):
    """Tests the packages below /workspace/.skills."""

    PATH = "/workspace/.skills"

    def setUp(self):
        super().setUp()
        self.flags = ("--config", self.config(box={"local": {"host_root": self.directory("root")}}))
        for name in ("csv", "pdf"):
            self.work = self.directory("root", "skills", name)
            self.put("SKILL.md", f"---\nname: {name}\ndescription: d\n---\nneedle\n")
        self.work = self.directory("root", "skills", "csv")

    def query(self, **variables):
        return (*self.flags, "--query", json.dumps({"variables": variables}))

    def test_visible_skills_are_read_and_searched(self):
        self.assertEqual(self.use("read", path=self.PATH)["content"], "csv\npdf")
        self.assertIn("needle", self.use("read", path=f"{self.PATH}/csv/SKILL.md")["content"])
        self.assertEqual(self.use("glob", pattern="c*", path=self.PATH)["matches"], [f"{self.PATH}/csv"])
        self.assertEqual(self.use("glob", pattern="*.md", path=f"{self.PATH}/csv")["matches"],
                         [f"{self.PATH}/csv/SKILL.md"])
        self.assertEqual(self.use("grep", pattern="needle", path=f"{self.PATH}/pdf")["matches"],
                         [{"file": f"{self.PATH}/pdf/SKILL.md", "line": 5, "content": "needle"}])
        self.refused("grep", f"Path must include a skill name under {self.PATH}/<skill-name>.", pattern="x",
                     path=self.PATH)

    def test_only_activated_skills_are_changed(self):
        self.refused("write", 'Skill "csv" must be activated before its files can be changed.', "PermissionError",
                     path=f"{self.PATH}/csv/new", content="x")
        self.refused("edit", 'Skill "csv" must be activated before its files can be changed.', "PermissionError",
                     path=f"{self.PATH}/csv/SKILL.md", old_string="needle", new_string="x")
        for activated in ({"csv": {}}, ["csv"]):
            flags = self.query(_activated_skills=activated)
            self.use("write", flags=flags, path=f"{self.PATH}/csv/new", content="x")
            self.use("edit", flags=flags, path=f"{self.PATH}/csv/new", old_string="x", new_string="y")
            self.assertEqual(self.get("new"), b"y")
            self.use("write", code=1, flags=flags, path=f"{self.PATH}/pdf/new", content="x")
        self.refused("write", f"Path is a directory: {self.PATH}", path=self.PATH, content="x")

    def test_other_skills_are_not_available(self):
        self.refused("read", 'Skill "none" is not available at this path. Visible skills: csv, pdf.',
                     path=f"{self.PATH}/none/x")
        flags = self.query(_pipeline_bound_skills=["pdf"], _activated_skills={"csv": {}})
        self.assertEqual(self.use("read", flags=flags, path=self.PATH)["content"], "pdf")
        for tool, more in BadInput.CALLS:
            got = self.use(tool, code=1, flags=flags, path=f"{self.PATH}/csv/SKILL.md", **more)
            self.assertEqual(got["error"], 'Skill "csv" is not available at this path. Visible skills: pdf.')
        self.assertEqual(os.listdir(self.work), ["SKILL.md"])

    def test_a_skill_does_not_lead_to_another(self):
        os.symlink("../pdf", self.path("link"))
        for path in ("link/SKILL.md", "../pdf/SKILL.md/../../csv/link/SKILL.md"):
            got = self.use("read", code=1, path=f"{self.PATH}/csv/{path}")
            self.assertTrue(got["error"].startswith("Path escapes the workspace boundary: "), got)
        self.refused("read", "Path escapes the workspace boundary: /workspace/.skills/../../etc",
                     path="/workspace/.skills/../../etc")


class SkillsInside(Skills):
    """Runs the tests of Skills with tools that see the packages only through the sandbox."""

    def setUp(self):
        super().setUp()
        self.flags = ("--config", self.config(box={"local": {"host_root": self.directory("root")}},
                                              service={"shares_filesystem": False}))

    def test_a_skill_does_not_lead_to_another(self):
        pass  # no test: a shell in the sandbox sees all skills anyway


class SkillsOverWebSocket(FileTest):
    """Tests a package that a peer has sent to a Box server as an archive, as LangBot does."""

    PATH = "/workspace/.skills/kit"

    def setUp(self):
        super().setUp()
        root = self.directory("srv")
        self.server = Server(self, config={"local": {"host_root": root}})
        # with an `endpoint` the tools take the server for another machine, and do not open the server's directories
        self.flags = ("--config", self.config(box={"local": {"host_root": root}, "runtime": {
            "endpoint": f"ws://127.0.0.1:{self.server.port}"}}))

    def peer(self):
        peer = Peer(WebSocketTransport(self.server.port))
        self.addCleanup(peer.close)
        return peer

    def install(self, **files):
        out, peer = io.BytesIO(), self.peer()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            for name, content in files.items():
                made.writestr(f"kit/{name.replace('__', '/').replace('_', '.')}", content)
        upload(peer, "k.zip", out.getvalue())
        peer.call("box_install_skill_zip", {"file_key": "k.zip", "filename": "kit.zip"})

    def test_a_package_is_used(self):
        self.assertEqual(self.use("read", path="/workspace/.skills")["content"], "")
        self.install(SKILL_md="---\nname: kit\ndescription: d\n---\nRun scripts/hi.sh\n",
                     scripts__hi_sh="echo hi from the kit\n", data_txt="".join(f"needle {hashlib.sha1(b'%d' % i).hexdigest()}\n" for i in range(3000)))
        self.assertEqual(self.use("read", path="/workspace/.skills")["content"], "kit")
        self.assertIn("Run scripts/hi.sh", self.use("read", path=f"{self.PATH}/SKILL.md")["content"])
        self.assertEqual(self.use("glob", pattern="*.sh", path=self.PATH)["matches"], [f"{self.PATH}/scripts/hi.sh"])
        got = self.use("grep", pattern="needle", path=self.PATH)
        self.assertEqual((got["total"], got["matches"][0]["file"]), (200, f"{self.PATH}/data.txt"))
        got = self.tool(f"sh {self.PATH}/scripts/hi.sh", *self.flags)
        self.assertEqual(got["stdout"], "hi from the kit")

    def test_only_an_activated_package_is_changed(self):
        self.install(SKILL_md="---\nname: kit\ndescription: d\n---\n")
        got = self.use("write", code=1, path=f"{self.PATH}/new", content="x")
        self.assertEqual(got["error_type"], "PermissionError")
        flags = (*self.flags, "--query", json.dumps({"variables": {"_activated_skills": ["kit"]}}))
        self.use("write", flags=flags, path=f"{self.PATH}/new", content="x")
        self.assertEqual(self.use("read", path=f"{self.PATH}/new")["content"], "x")
        made = self.peer().call("box_read_skill_file", {"name": "kit", "path": "new"})
        self.assertEqual(made["content"], "x")


class Failures(FileTest):
    """check_failure() looks at every failure of this file. This class causes the failures that no other test causes."""

    def test_no_failure_names_a_path_of_this_machine(self):
        work = self.directory("root", "default")
        root = {"local": {"host_root": self.directory("root")}}
        os.chmod(self.work, 0o777)
        missing = self.config(box={"local": {**root["local"], "default_workspace": self.work}})
        self.flags = ("--config", missing)
        self.assertIn("[host]", self.use("exec", code=1, command="true")["error"])
        self.flags = ("--config", missing + ".none")
        self.assertIn("[configuration]", self.use("read", code=1, path="x")["error"])
        self.flags = ("--config", self.config(box=root), "--workspace", work + "/none")
        self.use("exec", code=1, command="true")
        self.use("read", code=1, path="x")
        self.flags = ("--config", self.config(box={**root, "runtime": {"command": [self.work + "/none"]}}))
        self.use("read", code=1, path="x")
        got = self.cordon("tool", "--workspace", work, "exec", '{"command": "true"}', home="/proc/nowhere",
                          env={"CORDON_HOME": "/proc/nowhere"})
        self.assertEqual(got.code, 1)
        self.check_failure(got)
        self.assertNotIn("/proc/nowhere", got.text)

    def test_a_failure_says_what_to_do(self):
        self.put("file", "a a")
        for tool, parameters in (("read", {"path": "none"}), ("read", {"path": "../x"}), ("glob", {"pattern": "/x"}),
                                 ("edit", {"path": "file", "old_string": "b", "new_string": ""}),
                                 ("edit", {"path": "file", "old_string": "a", "new_string": ""}),
                                 ("grep", {"pattern": "("}), ("grep", {"pattern": "x", "path": "none"}),
                                 ("read", {"path": "/etc/passwd"}), ("read", {}), ("read", {"path": 5}),
                                 ("exec", {}), ("glob", {"pattern": "*", "path": "file"}),
                                 ("write", {"path": "file/x", "content": ""})):
            with self.subTest(tool=tool, **parameters):
                self.assertTrue(self.use(tool, code=1, **parameters)["hint"])


class Inside:
    """The runtime does not share the file system of the tools, so every tool runs a shell in the sandbox. Only the test
    itself looks at the files directly. A subclass chooses the runtime."""

    modes = ("root", "user")
    SERVICE = {"shares_filesystem": False}

    def setUp(self):
        super().setUp()
        self.work = self.directory("root", "default")
        os.chmod(self.work, 0o777)
        self.flags = ("--config", self.config(
            box={"local": {"host_root": self.directory("root")}, "runtime": self.runtime()}, service=self.SERVICE))

    def found(self, pattern, **more):
        return sorted(m.removeprefix("/workspace/") for m in self.use("glob", pattern=pattern, **more)["matches"])

    def test_files_are_read_written_and_edited(self):
        self.put("sub/a", "one\ntwo\n")
        self.assertEqual(self.use("read", path="sub/a")["content"], "one\ntwo\n")
        self.use("write", path="it's new", content="h\u00e9\n")
        self.use("edit", path="it's new", old_string="\u00e9", new_string="e" * 1000000)
        self.use("edit", path="it's new", old_string="h", new_string="H")
        self.assertEqual(self.get("it's new"), b"H" + b"e" * 1000000 + b"\n")
        self.assertEqual(self.use("read", path="/workspace")["content"], "it's new\nsub")

    def test_patterns_find_files(self):
        for i, name in enumerate(("a.py", "src/b.py", "src/deep/it's.py", "src/deep/c.txt", "build/x.py", "dist")):
            self.put(name)
            os.utime(self.path(name), (i, i))
        os.symlink("src", self.path("link"))
        os.mkfifo(self.path("fifo.py"))
        self.put("line\nfeed.py")
        got = self.use("glob", pattern="*.py")
        names = ["/workspace/src/deep/it's.py", "/workspace/src/b.py", "/workspace/a.py"]
        self.assertEqual(got, {"ok": True, "matches": names, "preview": "\n".join(names), "total": 3,
                               "truncated": False, "truncated_by": None})
        self.assertEqual(self.found("*", path="/workspace/src/deep"), ["src/deep/c.txt", "src/deep/it's.py"])
        self.assertEqual(self.found("dist"), ["dist"])
        self.assertEqual(self.found("x.py", path="build"), ["build/x.py"])
        self.refused("glob", "Path not found: /workspace/none", pattern="*", path="none")
        self.refused("glob", "Path is not a directory: /workspace/a.py", pattern="*", path="a.py")

    def test_the_newest_hundred_files_are_shown(self):
        for i in range(150):
            self.put(f"f{i:03}")
            os.utime(self.path(f"f{i:03}"), (i, i))
        got = self.use("glob", pattern="f*")
        self.assertEqual(got["matches"], [f"/workspace/f{i:03}" for i in range(149, 49, -1)])
        self.assertEqual((got["total"], got["truncated_by"]), (150, "matches"))

    def test_matching_lines_are_shown_with_their_places(self):
        self.put("a.txt", "one\nneedle\r\nthree needle")
        self.put("sub/it's.py", "x = 'needle'\n")
        self.put("empty")
        self.put("bytes", b"b \xff needle \xc3\xa9\n")
        self.put("build/hidden", "needle\n")
        got = self.use("grep", pattern=r"n\w{4}e")
        got["matches"].sort(key=lambda m: (m["file"], m["line"]))
        self.assertEqual(got, {"ok": True, "total": 4, "truncated": False, "truncated_by": None, "matches": [
            {"file": "/workspace/a.txt", "line": 2, "content": "needle"},
            {"file": "/workspace/a.txt", "line": 3, "content": "three needle"},
            {"file": "/workspace/bytes", "line": 1, "content": "b \ufffd needle \u00e9"},
            {"file": "/workspace/sub/it's.py", "line": 1, "content": "x = 'needle'"}]})
        got = self.use("grep", pattern="needle", include="/workspace/sub/*.py")
        self.assertEqual([m["file"] for m in got["matches"]], ["/workspace/sub/it's.py"])
        self.assertEqual([m["line"] for m in self.use("grep", pattern="^n", path="a.txt")["matches"]], [2])
        self.assertEqual(self.use("grep", pattern="needle", path="sub")["total"], 1)
        self.assertEqual(self.use("grep", pattern="nowhere")["matches"], [])

    def test_expressions_that_fail_are_named(self):
        self.put("file", "a" * 40 + "!\n")
        self.refused("grep", "Regex search timed out", pattern="^(a+)+$")
        self.assertTrue(self.use("grep", code=1, pattern="(")["error"].startswith("Invalid regex: "))
        self.refused("grep", "Path not found: /workspace/none", pattern="x", path="none")

    def test_large_files_are_searched_in_pieces(self):
        self.put("big", b"x" * 1000000 + b"\nneedle\n" + b"y" * 500000 + b"\n")
        self.put("small", "needle\n")
        got = self.use("grep", pattern="needle")
        self.assertEqual(sorted((m["file"], m["line"]) for m in got["matches"]),
                         [("/workspace/big", 2), ("/workspace/small", 1)])
        self.put("huge", b"z\n" * 5242880 + b"needle\n")
        got = self.use("grep", pattern="needle", path="huge")
        self.assertEqual((got["total"], got["truncated_by"]), (0, "scan"))

    def test_the_number_of_files_and_matches_is_bounded(self):
        for i in range(5001):
            self.put(f"{i}", "x\n" if i < 300 else "y\n")
        got = self.use("grep", pattern="x")
        self.assertEqual((got["total"], got["truncated_by"]), (200, "matches"))
        self.assertEqual(self.use("grep", pattern="nothing")["truncated_by"], "scan")
        os.remove(self.path("0"))
        self.assertEqual(self.use("grep", pattern="nothing")["truncated_by"], None)

    def test_a_long_listing_is_read_in_pages(self):
        deep = "/".join(["d" * 200] * 5)
        for i in range(900):
            self.put(f"{deep}/{i}")
        got = self.use("glob", pattern="*")
        self.assertEqual((got["total"], got["truncated_by"]), (900, "bytes"))
        self.assertLessEqual(len(got["preview"]), RESULT_BYTES)


class InsideInProcess(Inside, FileTest):
    def runtime(self):
        return {}

    def test_calls_for_files_use_the_session_of_commands(self):
        self.tool("echo here > /tmp/kept", *self.flags)
        self.assertEqual(self.use("grep", pattern="x")["matches"], [])
        self.assertEqual(self.tool("cat /tmp/kept", *self.flags)["stdout"], "here")
        self.assertEqual(len(self.call("service", "sessions")), 1)

    def test_files_that_change_while_they_are_read(self):
        """Whatever changes between the commands of one search, every match is a line of its own file."""
        for i in range(50):
            self.put(f"f{i}", f"needle {i}\n" * 10)
        done = threading.Event()

        def change():
            k = 0
            while not done.is_set():
                k += 1
                self.put(f"f{k % 50}", f"needle {k % 50}\n" * (k % 30))

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(10):
                for m in self.use("grep", pattern="needle")["matches"]:
                    self.assertEqual(m["content"], "needle " + m["file"].removeprefix("/workspace/f"))
        finally:
            done.set()
            thread.join()


class InsideOverWebSocket(Inside, FileTest):
    SERVICE = {}  # shares_filesystem is false by default if the runtime is an `endpoint`

    def runtime(self):
        self.server = Server(self)
        return {"endpoint": f"ws://127.0.0.1:{self.server.port}"}

    def test_calls_for_files_use_the_session_of_commands(self):
        self.tool("echo here > /tmp/kept", *self.flags)
        self.assertEqual(self.use("grep", pattern="x")["matches"], [])
        self.assertEqual(self.tool("cat /tmp/kept", *self.flags)["stdout"], "here")


class InsideOverPipes(Inside, FileTest):
    def runtime(self):
        return {"command": [PROGRAM, "--stdio-control", "--host", "127.0.0.1", "--ws-control-port", "0"]}


class LyingServer(EndpointTest):
    """The server answers every command of the tools with the same text."""

    modes = ("user",)

    def answer(self, tool, stdout, times=1, exit_code=0, service=None, **parameters):
        runtime = self.stub("socket", box_exec={
            "session_id": "one", "backend_name": "stub", "status": "completed", "duration_ms": 1, "stdout": stdout,
            "exit_code": exit_code, "stderr": "no\x1b", "times": times})
        got = self.cordon("tool", *self.write(runtime, service), tool, json.dumps(parameters))
        return got.code, json.loads(got.text)

    def encoded(self, text):
        return base64.b64encode(text).decode()

    def test_a_listing_that_lies(self):
        lines = [b"1 5 ./a.py", b"2 5 ./../x.py", b"3 5 /etc/x.py", b"4 5 ./b//c.py", b"5 5 ./.", b"x 5 ./d.py",
                 b"-1 5 ./e.py", b"6 99999999999999999999 ./f.py", b"7 5 ./sub/g.py", b"8 5 ./h\0.py", b"9 5 ./", b"",
                 b"10", b"11 5 ./" + b"y" * 5000 + b".py", b"12 5 ./cut.py"]
        code, got = self.answer("glob", self.encoded(b"\n".join(lines)), pattern="*")
        self.assertEqual((code, got["matches"], got["total"]), (0, ["/workspace/sub/g.py", "/workspace/a.py"], 2))

    def test_a_listing_without_an_end(self):
        code, got = self.answer("glob", self.encoded(b"1 5 ./a\n" * 3), 15000, pattern="*")
        self.assertEqual((code, got["total"], got["truncated_by"]), (0, 100000, "scan"))

    def test_answers_that_make_no_sense(self):
        for stdout in ("garbage", "", "AAAA:", "AAAA:3 3 :3 3 :", self.encoded(b"x" * 60000), "\u00e9:::", ":" * 1000):
            for tool, parameters in (("read", {"path": "x"}), ("glob", {"pattern": "*"}), ("grep", {"pattern": "x"}),
                                     ("edit", {"path": "x", "old_string": "a", "new_string": "b"}),
                                     ("read", {"path": "x", "encoding": "base64"})):
                with self.subTest(stdout=stdout[:20], tool=tool, **parameters):
                    code, got = self.answer(tool, stdout, **parameters)
                    self.assertEqual(code, 0 if got["ok"] else 1)
                    if code:
                        self.assertIn(got["error"], ("The sandbox gave an answer that makes no sense.",
                                                     "old_string not found in file."))

    def test_one_byte_at_a_time(self):
        one = f"1000000:{self.encoded(b'x')}"  # the answer: the file has a million bytes, and here is one of them
        code, got = self.answer("edit", one, service={"exec_timeout_sec": 1}, path="x", old_string="a", new_string="b")
        self.assertEqual((code, got["error_type"], got["error"]), (1, "BoxError", "The sandbox took too long."))
        calls = self.actions().count("box_exec")
        self.assertGreater(calls, 1)
        # 13 means that the path is a file: grep reads this file, and fails when exec_timeout_sec is over
        code, got = self.answer("grep", one, service={"exec_timeout_sec": 1}, exit_code=13, pattern="x", path="x")
        self.assertEqual(code, 1, got)

    def test_statuses_that_nobody_expects(self):
        for code in (1, 127, 255, -5, 1 << 40):
            status, got = self.answer("grep", "", exit_code=code, pattern="x")
            self.assertEqual((status, got["error_type"]), (1, "BoxError"))
            self.assertTrue(got["error"].startswith("The sandbox could not handle the file: no"), got)


class LyingSkills(EndpointTest):
    """The server shares our directories and names the directories of its skills."""

    modes = ("user",)

    def setUp(self):
        super().setUp()
        self.root = self.directory("root")
        self.directory("root", "default")
        self.secret = self.put("secret", self.directory("secret"))

    def put(self, content, path):
        with open(os.path.join(path, "file"), "w", encoding="utf-8") as handle:
            handle.write(content)
        return path

    def skill(self, package):
        """Returns the options of a service whose server has a skill in PACKAGE."""
        runtime = self.stub("socket", box_list_skills={"skills": [{"name": "csv", "package_root": package}]})
        return self.write(runtime, service={"shares_filesystem": True}, local={"host_root": self.root})

    def read(self, options):
        return self.cordon("tool", *options, "read", json.dumps({"path": "/workspace/.skills/csv/file"})).text

    def test_a_skill_is_no_other_directory_of_ours(self):
        good = self.put("good", self.directory("root", "skills", "csv"))
        self.put("secret", self.directory("root", "other"))
        self.assertEqual(json.loads(self.read(self.skill(good)))["content"], "good")
        for package in (self.secret, f"{self.root}/other", f"{good}/../../other", f"{good}/../../../secret"):
            self.assertNotIn('"secret"', self.read(self.skill(package)))

    def test_the_directory_that_was_checked_is_opened(self):
        """The test swaps a link for a directory all the time, as a sandbox could, so that `..` after the link leads
        elsewhere."""
        top = self.directory("root", "skills", "csv")
        os.mkdir(f"{top}/place")
        self.directory("root", "skills", "deep", "a", "b", "c", "d")
        self.put("good", self.directory("root", "skills", "deep", "secret"))
        os.symlink("../deep/a/b/c/d", f"{top}/link")
        stop, libc = threading.Event(), ctypes.CDLL(None)

        def swap():
            while not stop.is_set():
                libc.renameat2(-100, f"{top}/place".encode(), -100, f"{top}/link".encode(), 2)

        thread = threading.Thread(target=swap)
        thread.start()
        try:
            options = self.skill(f"{top}/place/../../../../secret")
            for _ in range(100):
                self.assertNotIn('"secret"', self.read(options))
        finally:
            stop.set()
            thread.join()


class SwappedDirectories(FileTest):
    """A command in the sandbox keeps swapping a directory for a link to a directory outside. The command may do
    this in its own workspace. No tool may reach what the link leads to."""

    # swaps `dir` and `out` in a tight loop (2: RENAME_EXCHANGE)
    SWAPPER = """
import ctypes, os
libc = ctypes.CDLL(None)
os.chdir("/workspace")
os.mkdir("dir")
open("dir/file", "w").write("inside needle")
os.symlink(%r, "out")
open("started", "w").close()
while not os.path.exists("stop"):
    for _ in range(1000):
        libc.renameat2(-100, b"dir", -100, b"out", 2)
"""
    ROUNDS = 60

    def setUp(self):
        super().setUp()
        self.outside = self.directory("outside")
        with open(os.path.join(self.outside, "file"), "w", encoding="utf-8") as handle:
            handle.write("secret needle\n")
        os.mknod(os.path.join(self.outside, "outsider"))
        self.command = None

    def start(self):
        self.put("swap.py", self.SWAPPER % self.outside)
        self.command = self.spawn("tool", *self.flags, "exec",
                                  json.dumps({"command": "python3 swap.py", "timeout_sec": 100}))
        self.eventually(lambda: os.path.exists(self.path("started")), within=30)

    def tearDown(self):
        if self.command:
            self.put("stop")
            self.finish(self.command)
        super().tearDown()

    def attack(self, tool, **parameters):
        """Calls the tool again and again while the command swaps."""
        self.start()
        seen = set()
        for _ in range(self.ROUNDS):
            got = self.cordon("tool", *self.flags, tool, "-", stdin=json.dumps(parameters).encode())
            self.assertIn(got.code, (0, 1), got)
            seen.add(got.text)
        self.assertEqual(sorted(os.listdir(self.outside)), ["file", "outsider"])
        with open(os.path.join(self.outside, "file"), encoding="utf-8") as handle:
            self.assertEqual(handle.read(), "secret needle\n")
        for text in seen:
            self.assertNotIn("secret", text)
        # the swaps were frequent enough for both kinds of answers
        self.assertEqual({json.loads(text)["ok"] for text in seen}, {True, False})

    def test_read_stays_inside(self):
        self.attack("read", path="/workspace/dir/file")

    def test_write_stays_inside(self):
        self.attack("write", path="/workspace/dir/new", content="x")

    def test_append_stays_inside(self):
        self.attack("write", path="/workspace/dir/file", content="inside\n", mode="append")

    def test_edit_stays_inside(self):
        self.attack("edit", path="/workspace/dir/file", old_string="needle", new_string="needles")

    def test_glob_stays_inside(self):
        self.attack("glob", pattern="*", path="/workspace/dir")

    def test_grep_stays_inside(self):
        self.attack("grep", pattern="needle", path="/workspace/dir")

    def test_searches_of_the_whole_tree_stay_inside(self):
        self.start()
        for _ in range(self.ROUNDS):
            self.assertNotIn("secret", json.dumps(self.use("grep", pattern="needle")))
            self.assertEqual(self.use("glob", pattern="outsider")["matches"], [])
