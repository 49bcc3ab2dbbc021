"""Tests of what counts as progress, and of commands that make none."""

import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from testlib import supervise  # noqa: E402
from testlib.progress import AnyOutput, TestsEnd  # noqa: E402

UNDER_WAY = "    Starting 3 tests across 2 binaries (1 test skipped)"
PASSES = "        PASS [   0.012s] ( 1/3) assay-stl::it rules::names"
FAILS = "     SIGKILL [   2.500s] ( 2/3) assay::service serve::stops"
IS_SLOW = "        SLOW [> 60.000s] ( ───────) assay::service serve::hangs"


class Progress(unittest.TestCase):
    def test_while_tests_run_only_their_ends_count(self) -> None:
        watch = TestsEnd()
        self.assertTrue(watch.line("   Compiling assay v0.1.0"))
        self.assertTrue(watch.line(UNDER_WAY))
        self.assertTrue(watch.line(PASSES) and watch.line(FAILS))
        self.assertFalse(watch.line(IS_SLOW) or watch.line("    thread 'main' panicked at") or watch.line(""))
        self.assertTrue(watch.line("     Summary [ 62.000s] 3 tests run: 1 passed, 2 failed, 0 skipped"))
        self.assertTrue(watch.line("   Doc-tests assay_stl"))

    def test_the_message_names_the_tests_that_run(self) -> None:
        watch = TestsEnd()
        also = IS_SLOW.replace("hangs", "ends")
        for line in (UNDER_WAY, IS_SLOW, also, also.replace("SLOW [>", "PASS [ ")):
            watch.line(line)
        self.assertEqual(watch.hung("10 minutes"), "no test ended for 10 minutes; running: assay::service serve::hangs")

    def test_a_reminder_that_a_test_runs_is_no_output(self) -> None:
        watch = AnyOutput()
        self.assertTrue(watch.line("half a hundred kills"))
        self.assertFalse(watch.line(IS_SLOW))
        self.assertIn("the last line was: SLOW", watch.hung("1 s"))

    def test_a_new_file_is_progress(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            os.utime(folder, (0, 0))
            watch = AnyOutput(folder, folder / "missing")
            self.assertFalse(watch.elsewhere())
            (folder / "object.o").touch()
            self.assertTrue(watch.elsewhere())
            self.assertFalse(watch.elsewhere())


class Supervision(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log = self.folder / "log"

    def run_script(self, script: str, limit_s: float) -> tuple[int, str]:
        end = supervise.run(["bash", "-c", script], self.log, AnyOutput(), limit_s)
        return end.code, self.log.read_text()

    def test_the_exit_code_and_the_output_are_kept(self) -> None:
        self.assertEqual(self.run_script("echo one; echo two >&2; exit 3", 60), (3, "one\ntwo\n"))
        self.assertEqual(supervise.run(["/no/such/program"], self.log, AnyOutput(), 60), supervise.Ended(127))
        self.assertIn("/no/such/program", self.log.read_text())

    def test_what_hangs_is_killed_with_its_children(self) -> None:
        # The child has a process group of its own, as tests have.
        script = f"set -m; echo $$ > {self.folder}/session; sleep 1000 & echo begun; sleep 1000"
        began = time.monotonic()
        code, log = self.run_script(script, 0.5)
        self.assertLess(code, 0)
        self.assertIn("killed: no output for 0.5 s; the last line was: begun", log)
        self.assertLess(time.monotonic() - began, supervise.GRACE_S, "it ends when it is asked to")
        self.assertEqual(supervise.session(int((self.folder / "session").read_text())), [])

    def test_what_goes_on_is_not_killed(self) -> None:
        code, log = self.run_script("for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done", 1)
        self.assertEqual((code, log.split()), (0, list("123456")))


if __name__ == "__main__":
    unittest.main()
