"""Tests cordon-skills, the worker that keeps skills for the Box server: its answers and its changes to files.

This file tests operations on packages and their files. test_skill_zips tests uploaded archives, and
tests/security/test_skill_attacks tests attacks."""

import datetime
import os
import shutil
import time

from skills_worker import FIELDS, SkillsTest, Worker

ENTRY_LIMIT = 1048576


class Listing(SkillsTest):
    def test_an_empty_store_is_made(self):
        self.assertEqual(self.ok("list"), {"skills": []})
        self.assertTrue(os.path.isdir(self.store))
        self.assertEqual(self.ok("get", {"name": "x"}), {"skill": None})

    def test_a_skill_as_the_peer_sees_it(self):
        self.put("a-dir/SKILL.md", "---\nname: csv-tools\ndisplay_name: 'CSV: tools'\ndescription: \"  Reads \\u00e9 \"\n"
                 "license: MIT\ntools: [a, {b: yes}]\n---\n\n\nUse it\n")
        os.utime(os.path.join(self.store, "a-dir/SKILL.md"), ns=(0, 1_700_000_000_123_456_789))
        skill, = self.ok("list")["skills"]
        self.assertEqual(list(skill), FIELDS)
        created = skill.pop("created_at")
        self.assertEqual(skill, {
            "name": "csv-tools", "display_name": "CSV: tools", "description": "Reads é", "instructions": "Use it\n",
            "package_root": os.path.join(self.store, "a-dir"), "entry_file": "SKILL.md", "python_project": False,
            "updated_at": "2023-11-14T22:13:20.123456+00:00"})
        age = time.time() - datetime.datetime.fromisoformat(created).timestamp()
        self.assertTrue(-5 < age < 600, created)
        skill["created_at"] = created
        self.assertEqual(self.ok("get", {"name": "csv-tools"})["skill"], skill)

    def test_a_missing_name_falls_back_to_the_directory(self):
        self.put("plain/skill.md", "only text")
        skill, = self.ok("list")["skills"]
        self.assertEqual((skill["name"], skill["display_name"], skill["description"], skill["instructions"],
                          skill["entry_file"]), ("plain", "plain", "", "only text", "skill.md"))
        self.put("plain/SKILL.md", "---\ndescription: large letters win\n---\n")
        skill, = self.ok("list")["skills"]
        self.assertEqual((skill["description"], skill["entry_file"]), ("large letters win", "SKILL.md"))

    def test_the_newest_skill_comes_first(self):
        for number, name in enumerate(["one", "two", "three"]):
            os.utime(os.path.join(self.package(name), "SKILL.md"), (0, [50, 70, 60][number]))
        self.assertEqual(self.names(), ["two", "three", "one"])

    def test_where_packages_are_found(self):
        self.package("a/b/c/d/e/six")
        self.package("1/2/3/4/5/6/seven")
        self.package("outer")
        self.package("outer/inner")
        self.package(".hidden", "hidden")
        os.symlink(self.package("real", store=self.dir), os.path.join(self.store, "linked"))
        self.assertEqual(sorted(self.names()), ["hidden", "outer", "six"])

    def test_python_projects(self):
        for name in ("requirements.txt", "pyproject.toml", "setup.py", "setup.cfg"):
            self.package(name.split(".")[0] + "-" + name.split(".")[1])
            self.put(f"{name.split('.')[0]}-{name.split('.')[1]}/{name}")
        self.package("venv")
        os.mkdir(os.path.join(self.store, "venv/.venv"))
        self.package("none")
        self.put("none/.venv")
        os.mkdir(os.path.join(self.store, "none/setup.py"))
        self.assertEqual({s["name"]: s["python_project"] for s in self.ok("list")["skills"]}, {
            "requirements-txt": True, "pyproject-toml": True, "setup-py": True, "setup-cfg": True, "venv": True,
            "none": False})

    def test_broken_packages_are_left_out(self):
        self.package("good")
        self.put("bytes/SKILL.md", b"\xff\xfe")
        self.put("large/SKILL.md", b"x" * (ENTRY_LIMIT + 1))
        self.put("largest/SKILL.md", b"x" * ENTRY_LIMIT)
        self.package("bad name")
        self.package("named", "a/b")
        self.package("anchor", "&a x")
        self.package("tag", "!!str x")
        self.package("yaml", "[")
        self.put("twice/SKILL.md", "---\nname: a\nname: b\n---\n")
        self.assertEqual(sorted(self.names()), ["good", "largest"])

    def test_too_many_packages(self):
        for number in range(1001):
            self.package(f"p{number}")
        self.refused("Skill discovery exceeded the configured package limit", "list", kind="ValueError")
        shutil.rmtree(os.path.join(self.store, "p7"))
        self.assertEqual(len(self.names()), 1000)

    def test_too_many_entries(self):
        for number in range(9999):
            self.put(f"{number % 5}/{number}")
        # five directories and 9999 files are four entries more than the limit of 10000
        self.refused("Skill discovery exceeded the configured entry limit", "get", {"name": "x"}, kind="ValueError")
        for number in range(4):
            os.unlink(os.path.join(self.store, f"{number}/{number}"))
        self.assertEqual(self.names(), [])

    def test_too_much_text(self):
        for number in range(17):
            self.package(f"p{number}", body="x" * (ENTRY_LIMIT - 100))
        self.refused("Skill listing exceeds the configured text limit", "list", kind="ValueError")
        shutil.rmtree(os.path.join(self.store, "p3"))
        self.assertEqual(len(self.names()), 16)

    def test_text_that_becomes_longer_as_json(self):
        """As JSON, each of these bytes takes six bytes. A reply has room for 32 MiB."""
        for number in range(7):
            self.package(f"p{number}", body="\x01" * (ENTRY_LIMIT - 100))
        self.refused("Skill listing exceeds the configured text limit", "list", kind="ValueError")
        self.assertEqual(self.ok("get", {"name": "p3"})["skill"]["name"], "p3")

    def test_a_missing_field_is_named(self):
        self.refused("'name'", "get", kind="KeyError")
        for op, field in (("update", "name"), ("delete", "name"), ("read", "name"), ("scan", "path"),
                          ("create", "skill")):
            self.refused(f"'{field}'", op)

    def test_tenants_do_not_see_each_other(self):
        self.create("mine")
        self.assertEqual(self.names(tenant="ws-other"), [])
        for bad in ("", "..", ".", "a/b", "-x", "x" * 129):
            got = self.worker().ask("list", tenant=bad)
            self.assertEqual(got["text"], "bad tenant namespace")


class Creating(SkillsTest):
    def test_create_writes_the_entry_file(self):
        skill = self.create("csv-tools", display_name="CSV: tools", instructions="Use scripts/run.py\n")
        self.assertEqual(self.tree(), {"csv-tools": None, "csv-tools/SKILL.md":
                         b"---\nname: csv-tools\ndisplay_name: 'CSV: tools'\n---\n\nUse scripts/run.py\n"})
        self.assertEqual(skill, self.ok("list")["skills"][0])
        self.assertEqual(os.stat(os.path.join(self.store, "csv-tools")).st_mode & 0o7777, 0o755)
        self.assertEqual(os.stat(os.path.join(self.store, "csv-tools/SKILL.md")).st_mode & 0o7777, 0o644)

    def test_fields_of_any_text(self):
        for number, text in enumerate(["yes", "a: b # c", "two\nlines", "'\"\\", "技能 😀", "- x", "\x07\u2028"]):
            skill = self.create(f"s{number}", description=text, display_name=text, instructions=text)
            self.assertEqual((skill["description"], skill["display_name"], skill["instructions"]),
                             (text.strip(), text.strip(), text))
        self.assertEqual(self.create("技能_2", instructions=None, description=7)["description"], "7")

    def test_bad_names_are_refused(self):
        bad = "Skill name can only contain letters, numbers, hyphens and underscores"
        for name, text in (("", "Skill name is required"), (" \t", "Skill name is required"), ("a b", bad),
                           ("../x", bad), (".", bad), ("a\0b", bad),
                           ("x" * 65, "Skill name cannot exceed 64 characters")):
            self.refused(text, "create", {"skill": {"name": name}})
        self.refused("Skill name is required", "create", {"skill": {}})
        self.refused("skill must be an object", "create", {"skill": "x"})
        self.assertEqual(self.create("  trimmed\n")["name"], "trimmed")
        self.refused('Skill with name "trimmed" already exists', "create", {"skill": {"name": "trimmed"}})
        self.assertEqual(sorted(self.tree()), ["trimmed", "trimmed/SKILL.md"])

    def test_names_in_use_are_refused(self):
        self.package("elsewhere", "taken")
        self.refused('Skill with name "taken" already exists', "create", {"skill": {"name": "taken"}})
        self.refused(f"Skill directory already exists: {self.store}/elsewhere", "create",
                     {"skill": {"name": "elsewhere"}})

    def test_a_directory_that_is_no_skill_yet(self):
        self.put("half/notes.txt", "keep")
        self.put("broken/SKILL.md", b"\xff")
        self.create("half")
        self.create("broken", instructions="new")
        self.assertEqual(self.tree()["half/notes.txt"], b"keep")
        self.assertEqual(self.tree()["broken/SKILL.md"], b"---\nname: broken\n---\n\nnew")

    def test_a_file_or_link_of_the_same_name_is_refused(self):
        self.put("file")
        os.symlink("/etc", os.path.join(self.store, "link"))
        for name in ("file", "link"):
            self.refused(f"Skill directory already exists: {self.store}/{name}", "create", {"skill": {"name": name}})

    def test_create_from_an_existing_package_in_the_store(self):
        self.package("group/found", "old")
        self.put("group/found/run.py", "code")
        skill = self.create("fresh", package_root=f" {self.store}/group/../group/found ", description="new")
        self.assertEqual((skill["package_root"], skill["instructions"], skill["display_name"], skill["description"]),
                         (f"{self.store}/group/found", "text", "old", "new"))
        self.assertEqual(self.names(), ["fresh"])
        self.refused(f"Directory does not exist: {self.store}/nope", "create",
                     {"skill": {"name": "n", "package_root": self.store + "/nope"}})
        os.mkdir(os.path.join(self.store, "bare"))
        self.refused(f"No SKILL.md found in {self.store}/bare", "create",
                     {"skill": {"name": "n", "package_root": self.store + "/bare"}})

    def test_create_in_a_place_that_listings_do_not_search_is_refused(self):
        inner, deep = self.package("outer/inner", "i"), self.package("1/2/3/4/5/6/7", "d")
        self.package("outer", "o")
        for path in (inner, deep):
            before = self.tree()
            self.refused('Failed to create skill "n"', "create", {"skill": {"name": "n", "package_root": path}})
            self.assertEqual(self.tree(), before)

    def test_tenants_stay_in_their_root(self):
        self.package("x", store=self.dir)
        other = self.package("x", store=os.path.join(self.root, "tenants/ws-other"))
        self.ok("list")
        os.symlink(other, os.path.join(self.store, "way"))
        for path in (self.dir + "/x", other, "/", "/nowhere", self.store, self.root, f"{self.store}/../ws-other/x",
                     f"{self.store}/way", "x"):
            self.refused("package_root must stay within the Workspace skill root", "create",
                         {"skill": {"name": "n", "package_root": path}})
        self.assertEqual(os.listdir(self.store), ["way"])

    def test_too_much_text(self):
        self.refused("Skill entry file SKILL.md exceeds the 1048576-byte limit", "create",
                     {"skill": {"name": "n", "instructions": "x" * ENTRY_LIMIT}})
        self.assertEqual(self.tree(), {})


class Updating(SkillsTest):
    def test_update_changes_the_given_fields_only(self):
        self.create("s", display_name="Shown", description="d", instructions="i")
        skill = self.ok("update", {"name": "s", "skill": {"description": "new"}})["skill"]
        self.assertEqual((skill["display_name"], skill["description"], skill["instructions"]), ("Shown", "new", "i"))
        skill = self.ok("update", {"name": "s", "skill": {"name": " s ", "instructions": "", "display_name": None,
                                                          "package_root": self.store + "/./s"}})["skill"]
        self.assertEqual((skill["display_name"], skill["description"], skill["instructions"]), ("s", "new", ""))
        self.assertEqual(self.tree()["s/SKILL.md"], b"---\nname: s\ndescription: new\n---\n\n")

    def test_update_drops_unknown_keys(self):
        self.put("s/SKILL.md", "---\nname: s\nlicense: MIT\n---\ntext")
        self.ok("update", {"name": "s", "skill": {"description": "d"}})
        self.assertEqual(self.tree()["s/SKILL.md"], b"---\nname: s\ndescription: d\n---\n\ntext")

    def test_renaming_and_moving_are_refused(self):
        self.create("s")
        for fields, text in (
                ({"name": "t"}, "Renaming skills is not supported"),
                ({"package_root": "/etc"}, "Updating package_root is not supported; recreate the skill to import a "
                                           "different package")):
            self.refused(text, "update", {"name": "s", "skill": fields})
        self.refused('Skill "nobody" not found', "update", {"name": "nobody", "skill": {}})
        self.refused('Skill "s\0" not found', "update", {"name": "s\0", "skill": {}})

    def test_the_mode_and_the_links_of_the_entry_stay(self):
        self.put("s/text/real.md", "---\nname: s\n---\nold", mode=0o600)
        os.symlink("text/real.md", os.path.join(self.store, "s/SKILL.md"))
        self.ok("update", {"name": "s", "skill": {"instructions": "new"}})
        self.assertEqual(self.tree()["s/SKILL.md"], "text/real.md")
        self.assertEqual(self.tree()["s/text/real.md"], b"---\nname: s\n---\n\nnew")
        self.assertEqual(os.stat(os.path.join(self.store, "s/text/real.md")).st_mode & 0o7777, 0o600)


class Deleting(SkillsTest):
    def test_delete_removes_the_whole_directory_below_the_root(self):
        self.create("a")
        self.package("group/one", "b")
        self.package("group/two", "c")
        self.assertEqual(self.ok("delete", {"name": "b"}), {"deleted": "b"})
        self.assertEqual(self.names(), ["a"])
        self.assertEqual(sorted(self.tree()), ["a", "a/SKILL.md"])
        self.refused('Skill "b" not found', "delete", {"name": "b"})

    def test_a_package_at_the_root(self):
        self.package("", "top")
        self.refused("Only managed skills under the Box skills root can be deleted", "delete", {"name": "top"})
        self.assertEqual(self.names(), ["top"])
        self.refused('Failed to create skill "below"', "create", {"skill": {"name": "below"}})
        self.assertEqual(sorted(self.tree()), ["SKILL.md"])


class Scanning(SkillsTest):
    def test_one_package(self):
        self.package("group/one", "found")
        for path in (self.store, self.store + "/group", f" {self.store}/group//one/ "):
            skill = self.ok("scan", {"path": path})
            self.assertEqual((list(skill), skill["name"], skill["package_root"]),
                             (FIELDS, "found", self.store + "/group/one"))

    def test_a_scan_that_finds_none_or_several_is_refused(self):
        os.makedirs(os.path.join(self.store, "empty"))
        self.package("deep/1/2/3", "too-deep")
        self.package("two/b")
        self.package("two/a")
        for name in ("empty", "deep"):
            self.refused(f"No SKILL.md found in {self.store}/{name} or its subdirectories (max depth: 2)", "scan",
                         {"path": f"{self.store}/{name}"})
        self.refused(f"Multiple skill directories found in {self.store}/two. Please choose a more specific path: "
                     f"{self.store}/two/a, {self.store}/two/b", "scan", {"path": self.store + "/two"})
        self.refused(f"Directory does not exist: {self.store}/nope", "scan", {"path": self.store + "/nope"})

    def test_a_long_list_in_a_message_is_cut(self):
        for number in range(400):
            self.package(f"many/package-{number:03}-with-a-rather-long-name")
        text = self.worker().ask("scan", {"path": self.store + "/many"})["text"]
        self.assertTrue(4097 < len(text) < 20000, len(text))

    def test_a_broken_package(self):
        self.put("s/SKILL.md", "---\nname: &x y\n---\n")
        self.refused("Skill entry file SKILL.md has front matter that cannot be read: 1:7: anchors are not allowed",
                     "scan", {"path": self.store + "/s"})

    def test_tenants_stay_in_their_root(self):
        self.ok("list")
        self.package("x", store=self.dir)
        os.symlink(self.dir + "/x", os.path.join(self.store, "way"))
        for path in (self.dir + "/x", "/", "", self.root, self.store + "/way", self.store + "/../ws-other"):
            self.refused("scan path must stay within the Workspace skill root", "scan", {"path": path})


class Files(SkillsTest):
    def setUp(self):
        super().setUp()
        self.package("s")

    def listed(self, path=None, **fields):
        data = {"name": "s", **fields}
        if path is not None:
            data["path"] = path
        return self.ok("list_files", data)

    def test_a_listing(self):
        self.put("s/scripts/run.py", "12345")
        self.put("s/scripts/.secret", "1")
        os.mkdir(os.path.join(self.store, "s/scripts/b"))
        self.assertEqual(self.listed("scripts"), {
            "skill": {"name": "s"}, "base_path": "scripts", "truncated": False, "entries": [
                {"path": "scripts/b", "name": "b", "is_dir": True, "size": None},
                {"path": "scripts/run.py", "name": "run.py", "is_dir": False, "size": 5}]})
        top = self.listed(include_hidden=True)
        self.assertEqual((top["base_path"], [e["path"] for e in top["entries"]]), (".", ["SKILL.md", "scripts"]))
        self.assertEqual([e["name"] for e in self.listed(" ./scripts/../scripts ", include_hidden=1)["entries"]],
                         [".secret", "b", "run.py"])

    def test_limits_of_a_listing(self):
        for number in range(1005):
            self.put(f"s/many/{number:04}")
        for number in range(8995):
            self.put(f"s/many/.{number:04}")
        for given, n in ((3, 3), (1000, 1000), (5000, 1000)):
            got = self.listed("many", max_entries=given)
            self.assertEqual((len(got["entries"]), got["truncated"]), (n, True))
        self.assertEqual(len(self.listed("many")["entries"]), 200)
        os.unlink(os.path.join(self.store, "s/many/.0000"))
        self.put("s/many/a")
        self.put("s/many/b")
        self.refused("Skill directory exceeds the configured entry limit", "list_files", {"name": "s", "path": "many"})
        for bad in (0, -1, True, "3", 2.5, None):
            self.refused("max_entries must be a positive integer", "list_files", {"name": "s", "max_entries": bad})

    def test_a_listing_of_exactly_max_entries_is_not_truncated(self):
        self.put("s/d/a")
        self.put("s/d/b")
        self.assertEqual([self.listed("d", max_entries=n)["truncated"] for n in (1, 2, 3)], [True, False, False])

    def test_paths(self):
        for op in ("list_files", "read", "write"):
            self.refused("path must be relative to the skill package root", op, {"name": "s", "path": "/etc"})
            for path in ("..", "a/../..", "../s/SKILL.md"):
                self.refused("path must stay within the skill package root", op, {"name": "s", "path": path})
            self.refused('Skill "nobody" not found', op, {"name": "nobody", "path": "x"})
            self.refused("embedded null byte", op, {"name": "s", "path": "a\0b"})
        self.refused("Skill directory not found: no/where", "list_files", {"name": "s", "path": "no/where"})
        self.refused("Skill directory not found: SKILL.md", "list_files", {"name": "s", "path": "SKILL.md"})

    def test_reading(self):
        self.put("s/a/é.txt", "täxt\r\n\0")
        self.assertEqual(self.ok("read", {"name": "s", "path": "a//é.txt"}),
                         {"skill": {"name": "s"}, "path": "a/é.txt", "content": "täxt\r\n\0"})
        for path in ("none", "a", "a/é.txt/x", "."):
            self.refused(f"Skill file not found: {path}", "read", {"name": "s", "path": path})
        self.put("s/large", b"x" * (ENTRY_LIMIT + 1))
        self.put("s/bytes", b"a\xff")
        self.put("s/most", b"x" * ENTRY_LIMIT)
        self.refused("Skill file large exceeds the 1048576-byte limit", "read", {"name": "s", "path": "large"})
        self.refused("Skill file bytes is not valid UTF-8 text", "read", {"name": "s", "path": "bytes"})
        self.assertEqual(len(self.ok("read", {"name": "s", "path": "most"})["content"]), ENTRY_LIMIT)

    def test_writing(self):
        self.assertEqual(self.ok("write", {"name": "s", "path": "new/dir/é.py", "content": "é"}),
                         {"skill": {"name": "s"}, "path": "new/dir/é.py", "bytes_written": 2})
        self.assertEqual(self.tree()["s/new/dir/é.py"], "é".encode())
        self.ok("write", {"name": "s", "path": "new/empty"})
        self.assertEqual(self.tree()["s/new/empty"], b"")
        self.put("s/run.sh", "old", mode=0o755)
        self.ok("write", {"name": "s", "path": "run.sh", "content": "new"})
        self.assertEqual(os.stat(os.path.join(self.store, "s/run.sh")).st_mode & 0o7777, 0o755)
        before = self.tree()
        self.refused("Skill file x exceeds the 1048576-byte limit", "write",
                     {"name": "s", "path": "x", "content": "é" * (ENTRY_LIMIT // 2) + "x"})
        self.refused("content must be a string", "write", {"name": "s", "path": "x", "content": 5})
        self.refused("Skill file new cannot be written: Is a directory", "write", {"name": "s", "path": "new"})
        self.refused("Skill file . cannot be written: Is a directory", "write", {"name": "s", "path": ""})
        self.refused("Skill file run.sh/x cannot be written: Not a directory", "write", {"name": "s", "path": "run.sh/x"})
        self.assertEqual(self.tree(), before)

    def test_links_that_stay_inside(self):
        self.put("s/real/file", "content")
        os.symlink("real", os.path.join(self.store, "s/dir"))
        os.symlink("../real/file", os.path.join(self.store, "s/real/again"))
        self.assertEqual(self.ok("read", {"name": "s", "path": "dir/again"})["content"], "content")
        self.ok("write", {"name": "s", "path": "dir/again", "content": "changed"})
        self.assertEqual(self.tree()["s/real/file"], b"changed")
        self.assertTrue(os.path.islink(os.path.join(self.store, "s/real/again")))
        self.assertEqual([(e["name"], e["is_dir"], e["size"]) for e in self.listed()["entries"]],
                         [("SKILL.md", False, 4), ("dir", True, None), ("real", True, None)])
        self.assertEqual([(e["path"], e["size"]) for e in self.listed("dir")["entries"]],
                         [("dir/again", 7), ("dir/file", 7)])


class WithoutTenants(SkillsTest):
    """Legacy peers have no tenant: the root itself is their store."""

    def test_without_a_tenant_the_root_is_the_store(self):
        got = self.worker().ask("create", {"skill": {"name": "s"}}, tenant=None)
        self.assertEqual(got["data"]["skill"]["package_root"], self.root + "/s")
        self.create("of-the-tenant")
        self.assertEqual(self.names(tenant=None), ["s"])
        self.assertEqual(self.names(), ["of-the-tenant"])

    def test_the_directory_of_tenants_is_out_of_reach(self):
        self.create("theirs")
        for fields in ({"name": "tenants"}, {"name": "tenants", "instructions": "x"}):
            self.refused(f"Skill directory already exists: {self.root}/tenants", "create", {"skill": fields},
                         tenant=None)
        self.refused('Skill "theirs" not found', "delete", {"name": "theirs"}, tenant=None)
        for path in (self.store + "/theirs", self.store, self.root + "/tenants"):
            worker = self.worker(source=path)
            got = worker.ask("create", {"skill": {"name": "stolen", "package_root": path}}, tenant=None)
            self.assertEqual(got["text"], f"Directory does not exist: {path}")
            got = worker.ask("scan", {"path": path}, tenant=None)
            self.assertEqual(got["text"], f"Directory does not exist: {path}")
        self.assertEqual(self.names(), ["theirs"])

    def import_from(self, path, name="fresh", **fields):
        """Imports as the server does: it sends the request, and then repeats it with an opened source."""
        data = {"skill": {"name": name, "package_root": path, **fields}}
        self.assertEqual(self.worker().ask("create", data, tenant=None), {"again": "source"})
        return self.worker(source=path).ask("create", data, tenant=None)

    def test_import(self):
        source = self.package("from/there", "old", store=self.dir)
        self.put("from/there/run.sh", "#!/bin/sh\n", mode=0o755, store=self.dir)
        self.put("from/there/deep/er/file", "x", store=self.dir)
        os.symlink("run.sh", os.path.join(source, "inside"))
        os.symlink("/etc/passwd", os.path.join(source, "outside"))
        os.mkfifo(os.path.join(source, "fifo"))
        got = self.import_from(source, description="added", instructions=" ")
        self.assertTrue(got["ok"], got)
        self.assertEqual((got["data"]["skill"]["display_name"], got["data"]["skill"]["instructions"],
                          got["data"]["skill"]["package_root"]), ("old", "text", self.root + "/fresh"))
        self.assertEqual(self.tree(self.root + "/fresh"), {
            "SKILL.md": b"---\nname: fresh\ndisplay_name: old\ndescription: added\n---\n\ntext",
            "run.sh": b"#!/bin/sh\n", "deep": None, "deep/er": None, "deep/er/file": b"x", "inside": "run.sh"})
        self.assertEqual(os.stat(self.root + "/fresh/run.sh").st_mode & 0o7777, 0o755)
        self.assertEqual(self.names(tenant=None), ["fresh"])

    def test_bad_imports_are_refused(self):
        os.makedirs(self.dir + "/empty")
        got = self.import_from(self.dir + "/empty")
        self.assertEqual(got["text"], f"No SKILL.md found in {self.dir}/empty")
        got = self.import_from(self.dir + "/missing")
        self.assertEqual(got["text"], f"Directory does not exist: {self.dir}/missing")
        source = self.package("from", "s", store=self.dir)
        self.put("fresh/x", store=self.root)
        got = self.import_from(source)
        self.assertEqual(got["text"], f"Skill directory already exists: {self.root}/fresh")
        self.swept()
        self.assertEqual(sorted(os.listdir(self.root)), ["fresh"])

    def test_a_link_into_the_root_is_not_an_import(self):
        os.symlink(self.package("real", "r", store=self.root), self.dir + "/link")
        got = self.import_from(self.dir + "/link", name="r2")
        self.assertEqual(got["data"]["skill"]["package_root"], self.root + "/real")

    def test_a_root_with_two_paths(self):
        os.makedirs(self.dir + "/data")
        os.symlink("data", self.dir + "/alias")
        worker = Worker(self, "alias/./skills")
        root = os.path.realpath(self.dir + "/data/skills")
        self.assertEqual(worker.hello, {"ok": True, "data": {"root": root}})
        self.package("s", "s", store=root)
        got = worker.ask("update", {"name": "s", "skill": {"package_root": self.dir + "/alias/skills/s",
                                                           "description": "d"}}, tenant=None)
        self.assertEqual(got["data"]["skill"]["package_root"], root + "/s", got)

    def test_a_scan_outside_the_root_needs_a_source(self):
        source = self.package("from/there", "s", store=self.dir)
        data = {"path": self.dir + "/from"}
        self.assertEqual(self.worker().ask("scan", data, tenant=None), {"again": "source"})
        got = self.worker(source=self.dir + "/from").ask("scan", data, tenant=None)
        self.assertEqual(got["data"]["package_root"], os.path.realpath(source))
        got = self.worker(source=self.dir + "/from").ask("scan", {"path": "/etc"}, tenant=None)
        self.assertEqual(got["text"], "Directory does not exist: /etc")
