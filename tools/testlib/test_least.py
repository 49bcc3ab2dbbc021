"""Tests of the sums of tests and rows, and of their least numbers."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from testlib import least, nextest, rows  # noqa: E402
from testlib.least import Fewer, Least  # noqa: E402

LOG = """
    Starting 9 tests across 3 binaries
        PASS [   0.003s] (1/9) assay-stl::it rules::names
        FAIL [   0.004s] (2/9) assay-stl::it rules::clips
  stderr ───
    running 1 test
    thread 'rules::clips' (12) panicked at crates/assay-stl/tests/it/rules.rs:3:5:
    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 6 filtered out; finished in 0.00s
        SLOW [> 60.000s] (─────) assay::service serve::long
     Summary [  61.250s] 9 tests run: 6 passed (2 slow, 1 leaky), 2 failed, 1 timed out, 4 skipped
        FAIL [   0.004s] (2/9) assay-stl::it rules::clips
  stderr ───
    thread 'rules::clips' (12) panicked at crates/assay-stl/tests/it/rules.rs:3:5:
     TIMEOUT [  60.000s] (9/9) assay::service serve::hangs
error: test run failed

running 2 tests
test crates/assay-stl/src/lib.rs - (line 7) ... ok
test crates/assay-stl/src/lib.rs - (line 9) ... FAILED

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.22s
"""


class Results(unittest.TestCase):
    def test_all_kinds_of_results_are_counted(self) -> None:
        self.assertEqual(nextest.counts(LOG), nextest.TestCounts(passed=7, failed=4, ignored=4))
        self.assertEqual(nextest.counts("     Summary [ 0.1s] 1 test run: 1 passed, 0 skipped"), nextest.TestCounts(passed=1))
        self.assertEqual(nextest.counts("     Summary [ 0.1s] 1/2 tests run: 1 failed, 0 skipped"), nextest.TestCounts(failed=1))
        self.assertEqual(nextest.counts("error: could not compile"), nextest.TestCounts())

    def test_failures_are_named_once(self) -> None:
        self.assertEqual(nextest.failures(LOG), [
            "crates/assay-stl/src/lib.rs - (line 9) ... FAILED",
            "FAIL assay-stl::it rules::clips",
            "TIMEOUT assay::service serve::hangs",
            "thread 'rules::clips' (12) panicked at crates/assay-stl/tests/it/rules.rs:3:5:",
        ])

    def test_rows_are_read_from_the_folder(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "rows"
            self.assertEqual(rows.read(folder), {})
            with rows.counted(folder) as environment:
                self.assertEqual(environment, {"ASSAY_TEST_ROWS": str(folder)})
                (folder / "cheats").write_text("145\n")
            self.assertEqual(rows.read(folder), {"cheats": 145})
            (folder / "cheats").write_text("many")
            self.assertRaisesRegex(ValueError, "cheats", rows.read, folder)
            with rows.counted(folder):
                self.assertEqual(rows.read(folder), {}, "what an earlier run wrote does not count")


class Numbers(unittest.TestCase):
    FILE = Least(least.numbers(100, {"cheats": 145, "clauses": 49}))

    def test_fewer_tests_or_rows_are_missing(self) -> None:
        self.assertEqual(least.missing(self.FILE, least.numbers(100, {"cheats": 145, "clauses": 50})), [])
        found = least.missing(self.FILE, least.numbers(99, {"cheats": 144}))
        self.assertEqual([line.split(",")[0] for line in found], ["tests: 99", "rows.cheats: 144", "rows.clauses: 0"])

    def test_a_file_that_says_less_needs_a_reason(self) -> None:
        entry = Fewer("rows.clauses", 49, 48, "a clause is gone")
        lower = least.numbers(100, {"cheats": 145, "clauses": 48})
        self.assertIn("rows.clauses is 48 and was 49", least.unexplained(Least(lower), self.FILE)[0])
        self.assertEqual(least.unexplained(Least(lower, (entry,)), self.FILE), [])
        self.assertTrue(least.unexplained(Least(lower, (Fewer("rows.clauses", 49, 48, ""),)), self.FILE), "no reason")
        self.assertTrue(least.unexplained(Least(lower, (Fewer("tests", 49, 48, "other"),)), self.FILE), "of another number")
        old = Least(self.FILE.numbers, (entry,))
        self.assertTrue(least.unexplained(Least(lower, (entry,)), old), "the entry explained an earlier reduction")
        self.assertEqual(least.unexplained(self.FILE, Least(lower)), [], "more needs no reason")

    def test_more_is_written(self) -> None:
        self.assertIsNone(least.raised(self.FILE, self.FILE.numbers))
        entry = Fewer("tests", 102, 100, "a format is gone; “quoted” \"twice\"")
        more = least.raised(Least(self.FILE.numbers, (entry,)), least.numbers(101, {"cheats": 145, "clauses": 49, "new.one": 3}))
        self.assertEqual(more.numbers, least.numbers(101, {"cheats": 145, "clauses": 49, "new.one": 3}))
        self.assertEqual(least.parse(least.text(more)), more, "what is written is read")

    def test_a_broken_file_is_an_error(self) -> None:
        for text in ("", "tests = 1", "tests = 1\n[rows]\n[[fewer]]\nwhat = 'tests'", "="):
            with self.subTest(text=text):
                self.assertRaises(ValueError, least.parse, text)


class Checkout(unittest.TestCase):
    """The file in a checkout with earlier commits."""

    def setUp(self) -> None:
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.root / least.FILE.relative_to(least.ROOT)
        self.file.parent.mkdir(parents=True)
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> None:
        user = ["-c", "user.name=t", "-c", "user.email=t@t.test", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *user, *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self, tests: int, *fewer: Fewer) -> None:
        self.file.write_text(least.text(Least(least.numbers(tests, {}), fewer)))
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message", "numbers")

    def check(self, tests: int, is_kept: bool = False) -> tuple[list[str], str]:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            return least.check(self.root, least.numbers(tests, {}), is_kept), said.getvalue()

    def test_a_first_commit_has_nothing_to_be_compared_with(self) -> None:
        self.commit(10)
        self.assertEqual(self.check(10), ([], ""))

    def test_a_run_with_more_raises_the_number(self) -> None:
        self.commit(10)
        self.assertEqual(self.check(12), ([], "least_tests.toml should say more: tests 10 to 12\n"))
        self.assertEqual(self.check(12, is_kept=True), ([], "least_tests.toml now says more: tests 10 to 12\n"))
        self.assertEqual(least.parse(self.file.read_text()).numbers, {"tests": 12})
        self.assertEqual(self.check(12, is_kept=True), ([], ""))

    def test_a_commit_that_lowers_the_number_needs_a_new_reason(self) -> None:
        self.commit(10)
        self.commit(8)
        problems, _ = self.check(8)
        self.assertEqual(len(problems), 1)
        self.assertIn("tests is 8 and was 10", problems[0])
        self.commit(10)
        self.commit(8, Fewer("tests", 10, 8, "two were the same"))
        self.assertEqual(self.check(8), ([], ""))
        self.commit(8, Fewer("tests", 10, 8, "two were the same"))
        self.assertEqual(self.check(8), ([], ""), "the next commit says no less")

    def test_a_change_that_is_not_committed_is_compared_too(self) -> None:
        self.commit(10)
        self.commit(12)
        self.file.write_text(least.text(Least(least.numbers(9, {}))))
        self.assertEqual(len(self.check(9)[0]), 2, "with both commits")
        self.file.write_text(least.text(Least(least.numbers(9, {}), (Fewer("tests", 12, 9, "three are gone"),))))
        self.assertEqual(self.check(9), ([], ""))

    def test_a_missing_file_is_an_error(self) -> None:
        self.assertEqual(len(self.check(1)[0]), 1)


if __name__ == "__main__":
    unittest.main()
