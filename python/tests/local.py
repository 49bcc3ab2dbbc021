"""`assay.verify`: paths in the jail, functions in this process, and what goes wrong with them."""

import contextlib
import io
import os
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
from service import EXAMPLES, REFERENCE, SCENARIO

import assay
from assay import errors

REACH = "tabletop_reach"
# Longer than the simulator waits for an answer.
BLOCKED_S = 120.0


class OfPaths(unittest.TestCase):
    """A path runs in the jail."""

    def test_a_folder_is_measured(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            result = assay.verify(REFERENCE, scenario=SCENARIO, episodes=2, seed=3, out=f"{folder}/out", record="none")
            self.assertEqual((result.verdict, result.is_measured, len(result.episodes)), ("SAFE", True, 2))
            self.assertTrue((result.folder / "report.html").is_file())
            again = assay.verify(REFERENCE, scenario=SCENARIO, episodes=2, seed=3, out=f"{folder}/again", record="none")
            hashes = [[episode.trace_hash for episode in one.episodes] for one in (result, again)]
            self.assertEqual(hashes[0], hashes[1])

    def test_a_violation_shows_itself(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            reckless = EXAMPLES / REACH / "reckless"
            result = assay.verify(reckless, scenario=REACH, episodes=1, seed=0, out=folder, videos=False)
            self.assertEqual(result.verdict, "UNSAFE")
            self.assertLess(min(margin for margin in result.margins().values() if margin is not None), 0)
            page = result._repr_html_()
            self.assertIn("UNSAFE", page)
            self.assertIn("data:image/png;base64,", page)
            worst = page.index("#c62828;")
            self.assertLess(worst, len(page))

    def test_wrong_arguments_say_why(self) -> None:
        with self.assertRaisesRegex(errors.ProgramError, "no_such_scenario"):
            assay.verify(REFERENCE, scenario="no_such_scenario")
        with self.assertRaisesRegex(errors.ProgramError, "nothing_here"):
            assay.verify("nothing_here", scenario=SCENARIO)

    def test_without_a_program_says_what_to_do(self) -> None:
        with mock.patch.dict(os.environ, {"ASSAY_PROGRAM": "/nothing"}):
            with self.assertRaisesRegex(errors.ProgramError, "/nothing is not a program"):
                assay.verify(REFERENCE, scenario=SCENARIO)
        with mock.patch.dict(os.environ, {"ASSAY_PROGRAM": "", "PATH": "/nothing"}):
            with self.assertRaisesRegex(errors.ProgramError, "install the wheel"):
                assay.verify(REFERENCE, scenario=SCENARIO)


class OfFunctions(unittest.TestCase):
    """A function runs in this process, and the report says that its identity is declared."""

    def verify(self, policy, **options) -> assay.Result:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        return assay.verify(policy, scenario=SCENARIO, episodes=1, seed=0, out=folder, record="none", **options)

    def test_a_function_is_declared(self) -> None:
        def still(observation):
            seen.update(observation)
            return np.zeros(1)

        seen: dict = {}
        result = self.verify(still)
        self.assertEqual((result.is_measured, result.report.policy_identity), (False, "declared"))
        self.assertIn("declared_identity", result.report.review_reasons)
        self.assertIn("declared", result._repr_html_())
        self.assertIsInstance(seen["instruction"], str)
        self.assertGreater(result.episodes[0].steps, 1)

    def test_the_report_has_the_name_of_a_function(self) -> None:
        def lean(observation):
            return np.zeros(1)

        self.assertRegex(self.verify(lean).report.policy_name, r"^http://127\.0\.0\.1:\d+/lean$")

    def test_numbers_of_numpy_are_arguments(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            result = assay.verify(
                lambda observation: [0.0], scenario=SCENARIO, seed=np.int64(7), episodes=np.int64(2), out=folder, record="none"
            )
        self.assertEqual((len(result.episodes), result.report.raw["seed"]), (2, 7))
        for wrong in ({"seed": -1}, {"seed": 2**64}, {"seed": True}, {"seed": 1.0}, {"episodes": 0}, {"episodes": 1.0}):
            with self.subTest(wrong), self.assertRaisesRegex(errors.ProgramError, "must be a whole number from"):
                assay.verify(lambda observation: [0.0], scenario=SCENARIO, **wrong)

    def test_a_class_has_an_object_for_each_episode(self) -> None:
        class Counting:
            made: list[int] = []

            def reset(self, *, seed, scenario, instruction):
                self.made.append(seed)

            def act(self, observation):
                return [0.0]

        with tempfile.TemporaryDirectory() as folder:
            assay.verify(Counting, scenario=SCENARIO, episodes=3, seed=0, out=folder, record="none")
        self.assertEqual(len(set(Counting.made)), 3)

    def test_a_function_that_raises_is_a_result_with_its_exception(self) -> None:
        result = self.verify(lambda observation: 1 / 0)
        self.assertEqual((result.verdict, result.episodes[0].status), ("INCONCLUSIVE", "policy_error"))
        self.assertIsInstance(result.policy_exception, ZeroDivisionError)
        self.assertIn("ZeroDivisionError", result.episodes[0].error.log_tail)

    def test_nonsense_is_a_result(self) -> None:
        for nonsense in (lambda observation: "left", lambda observation: np.full(1, np.nan), lambda observation: np.zeros((0, 1))):
            result = self.verify(nonsense)
            self.assertEqual((result.verdict, result.episodes[0].status), ("INCONCLUSIVE", "policy_error"))

    def test_an_answer_that_is_no_action_is_named(self) -> None:
        for answer, message in (
            ("left", "the action must be numbers, not 'left' (str)"), (None, "does the policy return anything?"),
            ([float("nan")], "actions[0][0] is NaN"),
        ):  # fmt: skip
            for protocol in ("http", "openpi"):
                with self.subTest(answer, protocol=protocol), assay.serve(lambda observation: answer, protocol=protocol) as server:
                    error = self.verify(server.url).episodes[0].error
                    self.assertEqual(error.code, "bad_action")
                    self.assertIn(message, error.message)

    def test_a_function_that_blocks_times_out(self) -> None:
        free = threading.Event()
        self.addCleanup(free.set)
        result = self.verify(lambda observation: [float(free.wait(BLOCKED_S))])
        self.assertEqual((result.verdict, result.episodes[0].status), ("INCONCLUSIVE", "policy_timeout"))
        self.assertEqual(result.episodes[0].error.code, "timeout")

    def test_no_policy_at_all(self) -> None:
        result = self.verify(42)
        self.assertIsInstance(result.policy_exception, TypeError)
        self.assertEqual(result.verdict, "INCONCLUSIVE")

    def test_progress_is_silent_unless_wanted(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.verify(lambda observation: [0.0])
        self.assertEqual(said.getvalue(), "")


class Serving(unittest.TestCase):
    """`assay.serve` in both protocols."""

    def test_openpi_gives_the_same_trace_as_http(self) -> None:
        def gentle(observation):
            return 0.1 * np.sin(observation["time"]) * np.ones(1)

        hashes = []
        for protocol in ("http", "openpi"):
            with assay.serve(gentle, protocol=protocol) as server, tempfile.TemporaryDirectory() as folder:
                result = assay.verify(server.url, scenario=SCENARIO, episodes=1, seed=1, out=folder, record="none")
                self.assertIsNone(server.error)
                hashes.append(result.episodes[0].trace_hash)
        self.assertEqual(hashes[0], hashes[1])

    def test_openpi_reports_an_exception(self) -> None:
        with assay.serve(lambda observation: 1 / 0, protocol="openpi") as server, tempfile.TemporaryDirectory() as folder:
            result = assay.verify(server.url, scenario=SCENARIO, episodes=1, out=folder, record="none")
        self.assertEqual(result.episodes[0].error.code, "server_error")
        self.assertIn("ZeroDivisionError", result.episodes[0].error.log_tail)

    def test_unknown_protocol(self) -> None:
        with self.assertRaisesRegex(ValueError, "http, openpi"):
            assay.serve(lambda observation: [0.0], protocol="grpc")

    def test_a_policy_is_recognised(self) -> None:
        self.assertNotIsInstance(pathlib.Path(), assay.Policy)


if __name__ == "__main__":
    unittest.main()
