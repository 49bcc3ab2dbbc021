"""Tests of the history of tools/test-long."""

import contextlib
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from testlib import history, stages  # noqa: E402
from testlib.history import Entry  # noqa: E402
from testlib.stages import Stage  # noqa: E402

FIRST, SECOND = "a" * 40, "b" * 40


def entry(stage: str, commit: str, result: str = "ok", dirty: bool = False) -> Entry:
    return Entry(stage, commit, dirty, "true", "2026-11-28T01:00:00Z", "2026-11-28T02:30:10Z", 5410.4, 9000.1, result, "c" * 64)


class History(unittest.TestCase):
    def test_due_is_what_has_not_passed_on_this_commit(self) -> None:
        entries = [
            entry("kills", FIRST), entry("load", SECOND), entry("hosts", FIRST, dirty=True), entry("fuzz", FIRST, "FAILED"),
            entry("kills", FIRST, "FAILED"),
        ]
        names = ["kills", "hosts", "load", "fuzz", "swarm"]
        self.assertEqual(history.due(names, entries, FIRST), ["hosts", "load", "fuzz", "swarm"])

    def test_the_table_says_when_each_passed_last(self) -> None:
        entries = [
            entry("kills", FIRST), entry("kills", SECOND, "FAILED"), entry("load", SECOND, dirty=True),
            entry("fuzz", FIRST, "FAILED"),
        ]
        lines = history.table(["kills", "load", "fuzz", "swarm"], entries).splitlines()
        self.assertRegex(lines[1], f"^kills +2026-11-28 02:30 +{'a' * 12} +5410 +9000  {'c' * 12}; it failed since$")
        self.assertEqual(lines[2].split(), ["load", "2026-11-28", "02:30", "b" * 12 + "+", "5410", "9000", "c" * 12])
        self.assertEqual(lines[3].split(), ["fuzz", "never", "it", "failed"])
        self.assertEqual(lines[4:], ["swarm            never", "+: with changes that were not committed"])


class Recorded(unittest.TestCase):
    def test_every_run_is_a_line(self) -> None:
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / ".gitignore").write_text("logs\n")
        user = ["-c", "user.name=t", "-c", "user.email=t@t.test", "-c", "commit.gpgsign=false"]
        for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "begin"]):
            subprocess.run(["git", *user, *command], cwd=root, check=True)
        table = {"good": Stage("echo found it"), "bad": Stage("false"), "after": Stage("true")}
        file = root / "logs/history.jsonl"
        with mock.patch.multiple(stages, ROOT=root, LOGS=root / "logs"), contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(history.run(table, [], file), 1)
            (root / "new").touch()
            self.assertEqual(history.run(table, ["after"], file), 0)
        found = history.read(file)
        self.assertEqual([(run.stage, run.result, run.dirty) for run in found], [
            ("good", "ok", False), ("bad", "FAILED", False), ("after", "ok", True),
        ])
        commit = history.git(root, "rev-parse", "HEAD")
        self.assertTrue(all(run.commit == commit and run.start <= run.end for run in found))
        self.assertEqual(found[0].log_sha256, hashlib.sha256(b"found it\n").hexdigest())
        self.assertEqual(json.loads(file.read_text().splitlines()[0])["command"], "echo found it")
        self.assertIn("== bad ... FAILED", said.getvalue())
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(history.run(table, ["unknown"], file), 2)


if __name__ == "__main__":
    unittest.main()
