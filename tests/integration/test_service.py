"""Tests `cordon service` and `cordon tool`: how they find the session of a model's call, how they complete and check
the call, how they enforce quotas, what the call returns, and which failures they keep. Also tests that cordon sends
nothing to another machine unasked."""

import json
import os
import shutil
import subprocess

from harness import CORDON, CordonTest

RESULT = {"session_id", "backend", "status", "ok", "exit_code", "stdout", "stderr",
          "stdout_truncated", "stderr_truncated", "duration_ms", "preview", "truncated"}


class ServiceTest(CordonTest):
    """Calls of the service. Every test ends the sessions that it made."""

    def tearDown(self):
        self.cordon("service", "cleanup")
        super().tearDown()

    def config(self, **sections):
        path = os.path.join(self.dir, "config.json")
        with open(path, "w", encoding="utf-8") as handle:
            json.dump(sections, handle)
        return path

    def call(self, *words, code=0, **kwargs):
        if words[:2] in (("service", "status"), ("service", "sessions"), ("service", "errors")):
            words += ("--format", "json")
        got = self.cordon(*words, **kwargs)
        self.assertEqual(got.code, code, got)
        if words[0] == "tool" and code:
            self.check_failure(got)
        return json.loads(got.text)

    def check_failure(self, got):
        """A model reads the failure, so it must name no path of this machine and contain no stack trace."""
        for text in (self.dir, os.path.realpath(self.dir), self.home, "Traceback", "Assertion", ".c:"):
            self.assertNotIn(text, got.text)

    def resolve(self, payload, *opts, **kwargs):
        return self.call("service", "resolve", *opts, json.dumps(payload), **kwargs)

    def tool(self, command, *opts, code=0, **parameters):
        return self.call("tool", *opts, "exec", json.dumps({"command": command, **parameters}), code=code)

    def directory(self, *names):
        path = os.path.realpath(os.path.join(self.dir, *names))
        os.makedirs(path, exist_ok=True)
        return path


class SessionIds(ServiceTest):
    modes = ("user",)  # these tests start no sandbox

    def session(self, query, *opts, **parameters):
        return self.resolve({"command": "ls", **parameters}, "--query", json.dumps(query), *opts)["session_id"]

    def test_the_default_template_names_the_chat(self):
        self.assertEqual(self.session({"variables": {"launcher_type": "person", "launcher_id": "test_user"}}),
                         "person_test_user")
        self.assertEqual(self.session({"launcher_type": "group", "launcher_id": "room-1"}), "group_room-1")
        self.assertEqual(self.session({"query_id": 7}), "query_7")

    def test_the_pipeline_has_a_template_of_its_own(self):
        pipeline = {"ai": {"local-agent": {"box-session-id-template": "{sender_id}/{nobody}/{{x}}"}}}
        self.assertEqual(self.session({"sender_id": 5, "pipeline_config": pipeline}), "5/unknown/{x}")

    def test_a_forced_template_wins_over_every_caller(self):
        config = self.config(system={"limitation": {"force_box_session_id_template": "{global}"}})
        pipeline = {"ai": {"local-agent": {"box-session-id-template": "mine"}}}
        self.assertEqual(self.session({"pipeline_config": pipeline}, "--config", config, session_id="mine"),
                         "global")
        got = self.resolve({"command": "ls"}, "--config", config, "--session", "mine", code=1)
        self.assertEqual(got["error_type"], "BoxValidationError")

    def test_a_blank_forced_template_counts_as_unset(self):
        config = self.config(system={"limitation": {"force_box_session_id_template": "  "}})
        self.assertEqual(self.session({"query_id": 1}, "--config", config), "query_1")

    def test_malformed_templates_are_refused(self):
        for text in ("{", "}", "{}", "{0}", "{a!r}", "{a:>5}", "{a.b}", "{a[0]}", "{a{b}}"):
            with self.subTest(text):
                config = self.config(system={"limitation": {"force_box_session_id_template": text}})
                got = self.resolve({"command": "ls"}, "--config", config, code=1)
                self.assertEqual(got["error_type"], "BoxValidationError", got)


class Profiles(ServiceTest):
    modes = ("user",)

    def profile(self, name):
        return self.config(box={"local": {"profile": name}})

    def test_the_profile_fills_missing_fields(self):
        got = self.resolve({"session_id": "s", "cmd": "x"}, "--config", self.profile("network_extended"))
        self.assertEqual((got["network"], got["cpus"], got["memory_mb"], got["pids_limit"],
                          got["read_only_rootfs"], got["timeout_sec"]), ("on", 2.0, 1024, 256, False, 30))

    def test_a_call_overrides_unlocked_fields(self):
        got = self.resolve({"session_id": "s", "cmd": "x", "network": "on", "cpus": 2})
        self.assertEqual((got["network"], got["cpus"]), ("on", 2.0))

    def test_locked_fields_stay(self):
        got = self.resolve({"session_id": "s", "cmd": "x", "network": "on", "host_path_mode": "rw",
                            "read_only_rootfs": False, "cpus": 2},
                           "--config", self.profile("offline_readonly"))
        self.assertEqual((got["network"], got["host_path_mode"], got["read_only_rootfs"], got["cpus"]),
                         ("off", "ro", True, 2.0))

    def test_a_time_limit_is_bounded_in_every_spelling(self):
        for given in (999, "999", 999.0):
            with self.subTest(given):
                self.assertEqual(self.resolve({"command": "x", "timeout_sec": given})["timeout_sec"], 120)
        self.assertEqual(self.resolve({"command": "x", "timeout_sec": 60})["timeout_sec"], 60)
        got = self.resolve({"command": "x", "timeout_sec": "soon"}, code=1)
        self.assertEqual(got["error_type"], "BoxValidationError")

    def test_an_unknown_profile_is_refused_with_all_names(self):
        got = self.resolve({"command": "x"}, "--config", self.profile("none"), code=1)
        self.assertEqual(got["error"], "unknown box profile 'none', available profiles: default, "
                                       "network_basic, network_extended, offline_readonly")


    def test_the_four_profiles(self):
        table = {"default": ("off", "rw", 1.0, 512, 128, True, 120),
                 "offline_readonly": ("off", "ro", 0.5, 256, 64, True, 60),
                 "network_basic": ("on", "rw", 1.0, 512, 128, True, 120),
                 "network_extended": ("on", "rw", 2.0, 1024, 256, False, 300)}
        for name, want in table.items():
            with self.subTest(name):
                options = ("--config", self.profile(name))
                got = self.resolve({"session_id": "s", "cmd": "x"}, *options)
                most = self.resolve({"session_id": "s", "cmd": "x", "timeout_sec": 999}, *options)["timeout_sec"]
                self.assertEqual((got["network"], got["host_path_mode"], got["cpus"], got["memory_mb"],
                                  got["pids_limit"], got["read_only_rootfs"], most), want)
                self.assertEqual((got["timeout_sec"], got["workspace_quota_mb"]), (30, 0))


class Validation(ServiceTest):
    modes = ("user",)

    def refused(self, text, **fields):
        got = self.resolve({"session_id": "s", "cmd": "x", **fields}, *self.options, code=1)
        self.assertEqual(got["error_type"], "BoxValidationError")
        self.assertIn(text, got["error"])

    def taken(self, **fields):
        return self.resolve({"session_id": "s", "cmd": "x", **fields}, *self.options)

    def setUp(self):
        super().setUp()
        self.root = self.directory("root")
        self.options = ("--config", self.config(box={"local": {"allowed_mount_roots": [self.root]}}))

    def test_limits_of_resources(self):
        self.refused("cpus", cpus=0)
        self.refused("memory_mb", memory_mb=10)
        self.refused("pids_limit", pids_limit=0)
        self.refused("workspace_quota_mb", workspace_quota_mb=-1)
        self.assertEqual(self.taken(cpus="0.5", memory_mb="64", pids_limit=1.0)["memory_mb"], 64)

    def test_a_workdir_below_the_mount(self):
        rule = "workdir must stay under mount_path"
        for mode in ("ro", "rw"):
            self.refused(rule, host_path=self.root, host_path_mode=mode, workdir="/tmp")
            self.refused(rule, host_path=self.root, host_path_mode=mode, mount_path="/project", workdir="/projectx")
            self.taken(host_path=self.root, host_path_mode=mode, workdir="/workspace/below")
            got = self.taken(host_path=self.root, host_path_mode=mode, mount_path="/project", workdir="/project/x")
            self.assertEqual(got["workdir"], "/project/x")
        self.assertEqual(self.taken(host_path=self.root, mount_path="/project")["workdir"], "/project")

    def test_without_a_mount_any_workdir_will_do(self):
        got = self.taken(host_path=self.root, host_path_mode="none", workdir="/tmp")
        self.assertEqual((got["host_path_mode"], got["workdir"]), ("none", "/tmp"))
        self.taken(host_path=self.root, host_path_mode="none", mount_path="/project", workdir="/projectx")
        self.taken(workdir="/tmp")
        self.refused("outside allowed_mount_roots", host_path=self.directory("outside"), host_path_mode="none")


class HostPaths(ServiceTest):
    modes = ("user",)

    def test_the_default_workspace_lies_below_the_host_root(self):
        root = self.directory("root")
        work = self.directory("root", "default")
        got = self.resolve({"command": "x"}, "--config", self.config(box={"local": {"host_root": root}}))
        self.assertEqual((got["host_path"], got["host_path_mode"]), (work, "rw"))

    def test_links_in_paths_are_resolved_before_the_check(self):
        root, outside = self.directory("root"), self.directory("outside")
        inside = self.directory("root", "in")
        os.symlink(root, os.path.join(self.dir, "link"))
        os.symlink(outside, os.path.join(root, "out"))
        config = self.config(box={"local": {"allowed_mount_roots": [os.path.join(self.dir, "link")]}})
        spec = {"session_id": "s", "cmd": "x"}
        self.assertEqual(self.resolve({**spec, "host_path": inside}, "--config", config)["host_path"], inside)
        for path in (outside, os.path.join(root, "out"), os.path.join(root, "..", "outside"), root + "x"):
            with self.subTest(path):
                os.makedirs(root + "x", exist_ok=True)
                got = self.resolve({**spec, "host_path": path}, "--config", config, code=1)
                self.assertEqual(got["error"], f"host_path is outside allowed_mount_roots: {root}")

    def test_without_roots_host_paths_are_refused(self):
        got = self.resolve({"session_id": "s", "cmd": "x", "host_path": self.directory("d")}, code=1)
        self.assertIn("no allowed_mount_roots are configured", got["error"])

    def test_a_missing_directory_is_refused(self):
        config = self.config(box={"local": {"host_root": self.directory("root")}})
        got = self.resolve({"session_id": "s", "cmd": "x", "host_path": "/nonexistent/x"}, "--config", config,
                           code=1)
        self.assertEqual(got["error"], "host_path must point to an existing directory on the host")


class Calls(ServiceTest):
    modes = ("root", "user")

    def test_calls_of_one_session_share_a_sandbox(self):
        work = self.directory("work")
        first = self.tool("echo here > file; echo $$; exit 3", "--workspace", work)
        self.assertEqual(set(first), RESULT)
        self.assertEqual((first["ok"], first["status"], first["exit_code"]), (False, "completed", 3))
        second = self.tool("cat file; echo kept > /tmp/x", "--workspace", work)
        self.assertEqual((second["ok"], second["stdout"], second["session_id"]), (True, "here", "query_unknown"))
        self.assertEqual(self.tool("cat /tmp/x", "--workspace", work)["stdout"], "kept")
        sessions = self.call("service", "sessions")
        self.assertEqual([(s["session_id"], s["host_path"]) for s in sessions], [("query_unknown", work)])
        self.assertEqual(self.call("service", "cleanup"), {"ended": 1})
        self.assertEqual(self.call("service", "sessions"), [])

    def test_a_session_with_other_limits_is_a_conflict(self):
        spec = {"session_id": "s", "cmd": "true"}
        self.call("service", "exec", json.dumps(spec))
        got = self.call("service", "exec", json.dumps({**spec, "cpus": 2}), code=1)
        self.assertEqual((got["error_type"], got["error"]),
                         ("BoxSessionConflictError", "Box session s already exists with cpus=1.0"))

    def test_a_sandbox_of_another_session_is_not_used(self):
        """The name of a sandbox is a short digest of the session's id, and two ids can have the same digest."""
        self.tool("true", "--session", "ours")
        name = self.call("service", "sessions")[0]["backend_session_id"]
        self.call("service", "cleanup")
        spec = self.resolve({"command": "x"}, "--session", "theirs")
        got = self.cordon("create", "--name", name, "--label", "cordon.box.spec=" + json.dumps(spec), "host")
        self.assertEqual(got.code, 0, got)
        self.assertIn("belongs to another session", self.tool("true", "--session", "ours", code=1)["error"])

    def test_two_first_calls_at_once_make_one_sandbox(self):
        calls = [self.spawn("tool", "exec", json.dumps({"command": f"echo {i}"})) for i in range(4)]
        self.assertEqual([json.loads(self.finish(c).out)["stdout"] for c in calls], ["0", "1", "2", "3"])
        self.assertEqual(len(self.call("service", "sessions")), 1)

    def test_a_command_that_is_too_slow_ends_its_session(self):
        got = self.tool("sleep 60", timeout_sec=1)
        self.assertEqual((got["status"], got["ok"], got["exit_code"]), ("timed_out", False, None))
        self.assertEqual(self.call("service", "sessions"), [])

    def test_a_read_only_workspace_takes_no_write(self):
        work = self.directory("work")
        self.assertFalse(self.tool("touch x", "--workspace", work + ":ro")["ok"])
        self.assertEqual(os.listdir(work), [])

    def test_long_output_keeps_head_and_tail(self):
        got = self.tool("yes a | head -c 5000; echo end >&2", "--output-limit", "100")
        self.assertEqual(len(got["stdout"]), 100)
        self.assertIn("characters truncated]", got["stdout"])
        self.assertEqual((got["stdout_truncated"], got["stderr"], got["stderr_truncated"]), (True, "end", False))
        self.assertEqual((got["preview"], got["truncated"]), (f"stdout:\n{got['stdout']}\n\nstderr:\nend", True))

    def test_a_preview_has_both_streams_within_a_limit(self):
        for command, preview in (("echo out", "out"), ("echo err >&2", "err"), ("true", ""),
                                 ("echo out; echo err >&2", "stdout:\nout\n\nstderr:\nerr")):
            got = self.tool(command)
            self.assertEqual((got["preview"], got["truncated"], "truncated_by" in got), (preview, False, False))
        got = self.tool("yes \u00e9 | head -n 50000", "--output-limit", "300000")
        self.assertEqual((len(got["stdout"]), got["stdout_truncated"]), (99999, False))
        self.assertEqual((got["truncated"], got["truncated_by"]), (True, "bytes"))
        self.assertEqual(got["preview"], "\u00e9\n" * (51200 // 3) + "\u00e9")
        got = self.call("service", "exec", json.dumps({"session_id": "s", "cmd": "true"}))
        self.assertEqual(set(got), RESULT - {"preview", "truncated"})


class Quotas(ServiceTest):
    modes = ("user",)

    def setUp(self):
        super().setUp()
        self.work = self.directory("root", "default")
        self.options = ("--config", self.config(box={"local": {"host_root": self.directory("root"),
                                                              "workspace_quota_mb": 1},
                                                    "limits": {"max_workspace_entries": 10}}))

    def fill(self, name, size):
        with open(os.path.join(self.work, name), "wb") as handle:
            handle.truncate(size)

    def test_the_quota_of_the_configuration_is_in_the_spec(self):
        self.assertEqual(self.resolve({"command": "x"}, *self.options)["workspace_quota_mb"], 1)

    def test_a_full_workspace_refuses_commands(self):
        self.fill("big", 2 << 20)
        got = self.tool("true", *self.options, code=1)
        self.assertEqual(got["error_type"], "BoxValidationError")
        self.assertEqual(got["error"], "workspace quota exceeded before execution: used=2097152 bytes "
                                       "limit=1048576 bytes entries=1 host_path=/workspace "
                                       "session_id=query_unknown")
        self.assertEqual(self.call("service", "sessions"), [])
        self.assertIn(self.work, self.call("service", "errors")[0]["message"])

    def test_a_command_that_fills_the_workspace_loses_its_session(self):
        got = self.tool("head -c 2000000 /dev/zero > big", *self.options, code=1)
        self.assertIn("workspace quota exceeded after execution: used=2000000 bytes", got["error"])
        self.assertEqual(self.call("service", "sessions"), [])

    def test_reserved_blocks_count(self):
        """A process can reserve blocks behind the end of a file, although the file does not become longer. These blocks
        count towards the quota."""
        path = os.path.join(self.work, "big")
        self.fill("big", 0)
        if subprocess.run(["fallocate", "-n", "-l", "4194304", path], capture_output=True).returncode:
            self.not_run("this file system reserves no blocks")
        self.assertEqual(os.path.getsize(path), 0)
        got = self.tool("true", *self.options, code=1)
        self.assertRegex(got["error"], "workspace quota exceeded before execution: used=4[0-9]{6} bytes")

    def test_small_files_count_by_their_size(self):
        for i in range(9):
            with open(os.path.join(self.work, str(i)), "wb") as handle:
                # the sizes of the nine files add up to less than the limit, but the sizes of their blocks add up to
                # more than the limit
                handle.write(b"x" * 116000)
        self.assertTrue(self.tool("true", *self.options)["ok"])

    def test_the_number_of_entries_is_limited(self):
        for i in range(11):
            self.fill(str(i), 0)
        got = self.tool("true", *self.options, code=1)
        self.assertIn("workspace entry limit exceeded before execution: entries>10 ", got["error"])

    def test_links_count_by_their_own_size(self):
        os.symlink("/usr", os.path.join(self.work, "usr"))
        self.assertTrue(self.tool("true", *self.options)["ok"])


class Errors(ServiceTest):
    modes = ("user",)

    def test_the_last_fifty_failures_are_kept(self):
        for i in range(60):
            self.call("tool", "--query", json.dumps({"query_id": 100 + i}), "exec", "{}", code=1)
        kept = self.call("service", "errors")
        self.assertEqual([e["query_id"] for e in kept], [str(i) for i in range(110, 160)])
        self.assertEqual({e["type"] for e in kept}, {"BoxValidationError"})

    def test_a_disabled_service_runs_nothing(self):
        got = self.tool("true", "--config", self.config(box={"enabled": "off"}), code=1)
        self.assertIn("disabled", got["error"])
        self.assertEqual(self.call("service", "errors"), [])


class NoUpdates(ServiceTest):
    """No program asks another machine for a newer version, or for anything else that nobody asked for."""

    modes = ("root",)  # an ordinary user needs newuidmap, which gets no privilege under strace

    def test_nothing_is_sent_to_another_machine(self):
        if not shutil.which("strace"):
            self.not_run("strace is missing")
        for words in (("version",), ("list",), ("service", "status"), ("service", "errors"),
                      ("tool", "exec", '{"command": "true"}')):
            log = os.path.join(self.dir, "trace")
            # strace waits until the sandbox has ended, so the idle time of the sandbox is short
            got = self.finish(self.spawn("-f", "-qq", "-o", log, "-e", "trace=connect,sendto,sendmsg", CORDON, *words,
                                         program="strace", env={"CORDON_BOX_TTL_SEC": "1"}))
            with self.subTest(words), open(log, encoding="utf-8") as handle:
                self.assertEqual((got.code, [line for line in handle if "sa_family=AF_INET" in line]), (0, []), got)
