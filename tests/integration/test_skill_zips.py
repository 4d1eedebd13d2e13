"""cordon-skills and uploaded archives: refused archives, skills in archives, and installed files."""

import io
import os
import stat
import struct
import zipfile

from skills_worker import FIELDS, Archive, SkillsTest, memory_file

SKILL = b"---\nname: pdf\n---\n\nRead it\n"
INVALID = "Uploaded file must be a valid .zip archive"


class ZipTest(SkillsTest):
    def setUp(self):
        super().setUp()
        self.ok("list")

    def upload(self, archive):
        return archive.file(self) if isinstance(archive, Archive) else memory_file(self, archive)

    def preview(self, archive, **fields):
        return self.ok("preview_zip", {"file_key": "k", "filename": "kit.zip", **fields},
                       file=self.upload(archive))["skills"]

    def install(self, archive, **fields):
        return self.ok("install_zip", {"file_key": "k", "filename": "kit.zip", **fields},
                       file=self.upload(archive))["skills"]

    def both_refuse(self, text, archive, **fields):
        """Asserts that preview and install refuse the archive and leave nothing."""
        before, fd = self.tree(self.root), self.upload(archive)
        for op in ("preview_zip", "install_zip"):
            self.refused(text, op, {"file_key": "k", "filename": "kit.zip", **fields}, file=fd)
        self.assertEqual(self.tree(self.root), before)


class Rules(ZipTest):
    def test_files_that_are_no_archives(self):
        self.both_refuse("Uploaded file is empty", b"")
        self.both_refuse(INVALID, b"PK\x03\x04 and then nothing")
        self.both_refuse(INVALID, b"\0" * 100000)
        self.both_refuse("Uploaded archive exceeds the compressed size limit (20971520 bytes)", b"\0" * 20971521)
        self.both_refuse(INVALID, b"\0" * 20971520)
        self.both_refuse(INVALID, Archive({"SKILL.md": SKILL}).done()[:-1])
        self.refused("no uploaded file came with the request", "preview_zip", {"file_key": "k"})

    def test_the_number_of_entries_is_limited(self):
        files = {f"f{number}": b"" for number in range(511)}
        self.assertEqual(len(self.preview(Archive({"SKILL.md": SKILL, **files}))), 1)
        self.both_refuse("Archive contains too many entries (maximum 512)",
                         Archive({"SKILL.md": SKILL, "one": b"", **files}))

    def test_unsafe_names_are_refused(self):
        for name in ("/etc/x", "../x", "a/../../x", "..", ".", "C:x", "c:/x", "\\x", "..\\x", "a\\..\\..\\x"):
            self.both_refuse(f"Archive contains an unsafe path: {name}", Archive({"SKILL.md": SKILL, name: b""}))
        self.both_refuse("Archive contains an unsafe empty or NUL path", Archive({"SKILL.md": SKILL, "": b""}))
        # Python writes no NUL into a name, so the test writes an X and replaces the X by a NUL
        named = Archive({"SKILL.md": SKILL, "aXb": b""}).done().replace(b"aXb", b"a\0b")
        self.both_refuse("Archive contains an unsafe empty or NUL path", named)

    def test_duplicate_paths_are_refused(self):
        for first, second in (("a", "a"), ("a/b", "a\\b"), ("a", "./a"), ("a", "a/"), ("a", "a/b"), ("a/b", "a")):
            archive = Archive({"SKILL.md": SKILL}).add(first).add(second)
            self.both_refuse(f"Archive contains a duplicate path: {second}", archive)

    def test_links_and_special_files_are_refused(self):
        def one(mode):
            return Archive({"SKILL.md": SKILL}).add("x", b"/etc/passwd", mode)

        self.both_refuse("Archive contains a symbolic link: x", one(stat.S_IFLNK | 0o777))
        for kind in (stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK):
            self.both_refuse("Archive contains a non-regular entry: x", one(kind | 0o644))
        archive = Archive({"SKILL.md": SKILL}).add("d/", b"content", method=zipfile.ZIP_STORED)
        self.both_refuse("Archive directory has unexpected content: d/", archive)

    def test_sizes_are_limited(self):
        mixed = os.urandom(1 << 16) + bytes(5 << 20)
        self.both_refuse("Archive entry exceeds the uncompressed size limit: x",
                         Archive({"SKILL.md": SKILL, "x": b"abc" * 5592406}, zipfile.ZIP_DEFLATED))
        self.both_refuse("Archive entry exceeds the compression ratio limit: x",
                         Archive({"SKILL.md": SKILL, "x": bytes(1 << 20)}))
        archive = Archive({"SKILL.md": SKILL})
        for number in range(13):  # 66 MiB together, each file with a compression ratio of 80
            archive.add(f"x{number}", mixed)
        self.both_refuse("Archive exceeds the total uncompressed size limit", archive)

    def patched(self, field, value, size=b""):
        """Returns a zip archive with an uncompressed file `x`. The entry of `x` in the central directory of the archive
        has the wrong VALUE in FIELD. If SIZE is not empty, it is the content of `x`."""
        content = Archive({"SKILL.md": SKILL, "x": size or b"0123456789"}, zipfile.ZIP_STORED).done()
        at = content.rindex(b"PK\x01\x02")
        offset = {"crc": 16, "packed": 20, "size": 24, "header": 42}[field]
        return content[:at + offset] + struct.pack("<I", value) + content[at + offset + 4:]

    def test_wrong_sizes_are_refused(self):
        self.both_refuse("Archive entry size changed while extracting: x", self.patched("size", 9))
        self.both_refuse("Archive entry size changed while extracting: x", self.patched("size", 11))
        self.both_refuse("Archive contains invalid size metadata: x", self.patched("packed", 1 << 20))
        self.both_refuse("Archive contains invalid size metadata: x", self.patched("header", 1 << 20))
        self.both_refuse("Archive entry exceeds the compression ratio limit: x", self.patched("packed", 0))
        self.both_refuse(INVALID, self.patched("crc", 1))
        self.both_refuse(INVALID, self.patched("header", 1))

    def test_an_entry_longer_than_declared_is_refused(self):
        """A deflated entry that is longer than its declared size."""
        content = Archive({"SKILL.md": SKILL, "x": b"abc" * 1000}).done()
        at = content.rindex(b"PK\x01\x02") + 24
        self.both_refuse("Archive entry size changed while extracting: x",
                         content[:at] + struct.pack("<I", 300) + content[at + 4:])

    def test_entries_that_share_content_are_refused(self):
        """Entries that share headers and contents would make a small archive enormous."""
        inner = Archive({"y": b"quoted"}, zipfile.ZIP_STORED).done()
        outer = bytearray(Archive({"x": inner[:inner.index(b"PK\x01\x02")]}, zipfile.ZIP_STORED).done())
        record = bytearray(inner[inner.index(b"PK\x01\x02"):inner.index(b"PK\x05\x06")])
        record[42:46] = struct.pack("<I", 31)
        end = outer.rindex(b"PK\x05\x06")
        start = outer.rindex(b"PK\x01\x02", 0, end)
        outer[end:end] = record
        size = end + len(record) - start
        outer[-22:] = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 2, 2, size, start, 0)
        self.both_refuse("Archive contains invalid size metadata: y", bytes(outer))

    def test_encryption_and_other_methods_are_refused(self):
        encrypted = bytearray(Archive({"SKILL.md": SKILL}).done())
        encrypted[encrypted.rindex(b"PK\x01\x02") + 8] |= 1
        self.both_refuse("Archive contains an encrypted entry: SKILL.md", bytes(encrypted))
        self.both_refuse("Archive entry has a compression method that is not supported: SKILL.md",
                         Archive({"SKILL.md": SKILL}, zipfile.ZIP_LZMA))

    def test_supported_forms(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.assertEqual(self.preview(Archive({"SKILL.md": SKILL}, method))[0]["name"], "pdf")
        buffer = io.BytesIO(b"#!/bin/sh\nexit\n")
        buffer.seek(0, 2)
        with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.comment = b"x" * 65535
            with archive.open("SKILL.md", "w", force_zip64=True) as handle:
                handle.write(SKILL)
        self.assertEqual(self.preview(buffer.getvalue())[0]["name"], "pdf")


class Candidates(ZipTest):
    def sources(self, archive, **fields):
        return [skill["source_path"] for skill in self.preview(archive, **fields)]

    def test_a_preview(self):
        skill, = self.preview(Archive({"top/SKILL.md": SKILL, "top/requirements.txt": b""}))
        self.assertEqual(list(skill), FIELDS + ["source_path"])
        self.assertEqual({key: skill[key] for key in FIELDS[:7] + ["source_path"]}, {
            "name": "pdf", "display_name": "pdf", "description": "", "instructions": "Read it\n",
            "package_root": f"{self.store}/kit-upload", "entry_file": "SKILL.md", "python_project": True,
            "source_path": ""})
        self.assertEqual(self.tree(), {})

    def test_where_skills_are_found(self):
        self.assertEqual(self.sources(Archive({"b/SKILL.md": SKILL, "a/x/SKILL.md": SKILL, "a/x/y/SKILL.md": SKILL,
                                               "1/2/3/SKILL.md": SKILL})), ["a/x", "b"])
        self.assertEqual(self.sources(Archive({"SKILL.md": SKILL, "a/SKILL.md": SKILL})), [""])
        # if one directory holds everything, the search begins in that directory
        self.assertEqual(self.sources(Archive({"top/a/b/SKILL.md": SKILL})), ["a/b"])
        self.assertEqual(self.sources(Archive({"top/": b"", "top/skill.md": b"x"})), [""])
        self.both_refuse("No SKILL.md found in kit.zip or its subdirectories (max depth: 2)",
                         Archive({"1/2/3/4/SKILL.md": SKILL}))
        self.both_refuse("No SKILL.md found in kit.zip or its subdirectories (max depth: 2)", Archive())

    def test_source_subdir(self):
        archive = Archive({"top/a/SKILL.md": SKILL, "top/b/c/SKILL.md": SKILL}).done()
        for subdir, found in (("", ["a", "b/c"]), ("b", ["c"]), (" /b\\c/ ", [""]), ("x/../b", ["c"]), (".", ["a", "b/c"])):
            self.assertEqual(self.sources(archive, source_subdir=subdir), found, subdir)
        for subdir in ("..", "b/../..", "..\\x"):
            self.both_refuse("source_subdir must stay within the uploaded archive", archive, source_subdir=subdir)
        for subdir in ("nope", "a/SKILL.md"):
            self.both_refuse(f"source_subdir does not exist in the uploaded archive: {subdir}", archive,
                             source_subdir=subdir)

    def test_target_directories(self):
        two = Archive({"kit/SKILL.md": SKILL, "other.v2/SKILL.md": SKILL}).done()
        one = Archive({"SKILL.md": SKILL}).done()

        def places(archive, **fields):
            return [os.path.relpath(skill["package_root"], self.store) for skill in self.preview(archive, **fields)]

        self.assertEqual(places(two), ["kit-upload", "kit-other.v2-upload"])
        self.assertEqual(places(two, target_suffix=""), ["kit", "kit-other.v2"])
        self.assertEqual(places(one, filename="dir/My Skill (1).tar.zip", target_suffix="x_2"), ["My-Skill--1--tar-x_2"])
        self.assertEqual(places(one, filename=".."), ["uploaded-skill-upload"])
        for suffix in ("../../x", "a/b", ".", "a b"):
            self.both_refuse("target_suffix can only contain letters, numbers, hyphens and underscores", one,
                             target_suffix=suffix)

    def test_broken_skills_are_refused(self):
        self.both_refuse("Skill entry file SKILL.md is not valid UTF-8 text", Archive({"SKILL.md": b"\xff"}))
        self.both_refuse("Skill entry file SKILL.md exceeds the 1048576-byte limit",
                         Archive({"SKILL.md": os.urandom(30000) + b"x" * 1048576}))
        self.both_refuse("Skill name can only contain letters, numbers, hyphens and underscores",
                         Archive({"SKILL.md": b"---\nname: a b\n---\n"}))


class Installing(ZipTest):
    def test_installed_files_on_disk(self):
        archive = Archive({"top/SKILL.md": SKILL, "top/scripts/deep/run.py": b"print(1)\n", "README": b"not a part"})
        archive.add("top/run.sh", b"#!/bin/sh\n", stat.S_IFREG | 0o710).add("top/empty/", mode=stat.S_IFDIR | 0o700)
        archive.add("top/odd", mode=0o6777)
        skill, = self.install(archive)
        self.assertEqual(list(skill), FIELDS)
        self.assertEqual((skill["name"], skill["package_root"]), ("pdf", f"{self.store}/kit-top-upload"))
        self.assertEqual(self.ok("list")["skills"], [skill])
        self.assertEqual(self.tree(), {
            "kit-top-upload": None, "kit-top-upload/SKILL.md": SKILL, "kit-top-upload/scripts": None,
            "kit-top-upload/scripts/deep": None, "kit-top-upload/scripts/deep/run.py": b"print(1)\n",
            "kit-top-upload/run.sh": b"#!/bin/sh\n", "kit-top-upload/empty": None, "kit-top-upload/odd": b""})
        modes = {path: os.stat(os.path.join(self.store, path)).st_mode & 0o7777 for path in self.tree()}
        self.assertEqual({path for path, mode in modes.items() if mode == 0o644},
                         {"kit-top-upload/SKILL.md", "kit-top-upload/scripts/deep/run.py"})
        self.assertEqual(set(modes.values()), {0o644, 0o755})

    def test_one_of_several_skills_must_be_chosen(self):
        archive = Archive({"a/SKILL.md": b"A", "b/SKILL.md": b"B", "c/SKILL.md": b"C"}).done()
        self.refused("Multiple skills found. Please choose one or more source_paths: a, b, c", "install_zip",
                     {"file_key": "k", "filename": "kit.zip"}, file=self.upload(archive))
        self.refused('Invalid source_path "d". Available: a, b, c', "install_zip",
                     {"file_key": "k", "filename": "kit.zip", "source_paths": ["a", "d"]}, file=self.upload(archive))
        self.assertEqual(self.tree(), {})
        names = [s["name"] for s in self.install(archive, source_paths=["/b/", "b", " a "], source_path="a")]
        self.assertEqual(names, ["kit-b-upload", "kit-a-upload"])
        self.assertEqual([s["name"] for s in self.install(archive, source_path="c\\")], ["kit-c-upload"])

    def test_the_base_is_shown_as_a_dot(self):
        archive = Archive({"SKILL.md": b"A"}).done()
        self.refused('Invalid source_path "x". Available: .', "install_zip",
                     {"file_key": "k", "filename": "kit.zip", "source_path": "x"}, file=self.upload(archive))
        self.assertEqual(len(self.install(archive, source_paths=["."])), 1)

    def test_taken_target_directories_are_refused(self):
        archive = Archive({"SKILL.md": SKILL}).done()
        self.install(archive)
        self.refused(f"Skill directory already exists: {self.store}/kit-upload", "install_zip",
                     {"file_key": "k", "filename": "kit.zip"}, file=self.upload(archive))
        twins = Archive({"x/a/SKILL.md": b"1", "y/a/SKILL.md": b"2"}).done()
        self.refused(f"Duplicate target directory selected: {self.store}/kit-a-upload", "install_zip",
                     {"file_key": "k", "filename": "kit.zip", "source_paths": ["x/a", "y/a"]}, file=self.upload(twins))
        os.symlink("/etc", os.path.join(self.store, "link-upload"))
        self.refused(f"Skill directory already exists: {self.store}/link-upload", "install_zip",
                     {"file_key": "k", "filename": "link.zip"}, file=self.upload(archive))

    def test_a_bad_skill_prevents_the_whole_installation(self):
        """The second skill has no name, and the name of its directory is not allowed."""
        archive = Archive({"a/SKILL.md": b"A", "b.c/SKILL.md": b"---\ndescription: d\n---\n"})
        self.refused("Skill name can only contain letters, numbers, hyphens and underscores", "install_zip",
                     {"file_key": "k", "filename": "kit.zip", "source_paths": ["a", "b.c"]}, file=self.upload(archive))
        self.ok("list")
        self.assertEqual(self.tree(), {})

    def test_a_name_that_is_too_long_prevents_the_whole_installation(self):
        """The name of the second directory is too long for the file system."""
        archive = Archive({"a/SKILL.md": b"A", "b" * 250 + "/SKILL.md": b"---\nname: b\n---\n"})
        got = self.worker().ask("install_zip", {"file_key": "k", "filename": "kit.zip",
                                                "source_paths": ["a", "b" * 250]}, file=self.upload(archive))
        self.assertRegex(got["text"], "^Skill directory cannot be made: .*: File name too long$")
        self.assertEqual(self.tree(), {})

    def test_names_of_files_are_kept(self):
        skill, = self.install(Archive({"SKILL.md": SKILL, "é/技.txt": b"1", "a\\b": b"2", " x ": b"3"}))
        self.assertEqual(sorted(self.tree(skill["package_root"])), [" x ", "SKILL.md", "a", "a/b", "é", "é/技.txt"])

    def test_the_offset_of_the_file_does_not_matter(self):
        fd = self.upload(Archive({"SKILL.md": SKILL}))
        os.lseek(fd, 17, os.SEEK_SET)
        self.ok("install_zip", {"file_key": "k", "filename": "kit.zip"}, file=fd)
        self.assertEqual(os.lseek(fd, 0, os.SEEK_CUR), 17)
