"""Tests of processes that tests share."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from testlib import services  # noqa: E402

READY = re.compile(r"ready at (\S+)\n")
SERVES = ["bash", "-c", "trap 'echo stopped; exit 0' TERM; echo ready at here; while :; do sleep 0.05; done"]


def is_alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Processes(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log = self.folder / "log"

    def test_one_is_waited_for_and_stopped(self) -> None:
        with services.process(SERVES, self.log, READY) as found:
            self.assertEqual(found[1], "here")
        self.assertEqual(self.log.read_text(), "ready at here\nstopped\n")

    def test_one_that_ends_too_soon_is_an_error_with_its_log(self) -> None:
        command = ["bash", "-c", "echo no such disk; exit 3"]
        with self.assertRaisesRegex(services.NotStarted, "(?s)bash ended with 3.*no such disk"):
            self.enterContext(services.process(command, self.log, READY))

    def test_all_end_if_the_block_fails(self) -> None:
        @contextlib.contextmanager
        def service(logs: pathlib.Path):
            command = ["bash", "-c", f"echo $$ > {logs}/pid; echo ready at here; exec sleep 1000"]
            with services.process(command, self.log, READY) as found:
                yield {"ADDRESS": found[1]}

        with self.assertRaises(KeyboardInterrupt), services.running([service], self.folder) as environment:
            self.assertEqual(environment, {"ADDRESS": "here"})
            raise KeyboardInterrupt
        self.assertFalse(is_alive(int((self.folder / "pid").read_text())))

    def test_one_ends_with_the_program_that_started_it(self) -> None:
        script = (
            "import pathlib, re, sys; from testlib import services\n"
            f"with services.process({SERVES!r}, pathlib.Path({str(self.log)!r}), re.compile('ready')): sys.stdin.read()"
        )
        environment = os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).resolve().parent.parent)}
        with subprocess.Popen([sys.executable, "-B", "-c", script], stdin=subprocess.PIPE, env=environment) as parent:
            self.wait_for("ready at here")
            parent.send_signal(signal.SIGKILL)
            parent.wait()
        self.wait_for("stopped")

    def test_each_kind_of_servers_has_a_variable_of_its_own(self) -> None:
        kinds = tomllib.loads(services.KINDS.read_text())
        variables = [kind["variable"] for kind in kinds.values()]
        self.assertTrue(variables)
        self.assertEqual(len(variables), len(set(variables)))
        for name, kind in kinds.items():
            self.assertEqual(kind["variable"], f"ASSAY_TEST_SERVER_{name.upper()}")
            self.assertTrue(all(isinstance(word, str) for word in kind["arguments"]))

    def wait_for(self, text: str) -> None:
        until = time.monotonic() + 60
        while not self.log.exists() or text not in self.log.read_text():
            self.assertLess(time.monotonic(), until, f"{text!r} was not written")
            time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
