"""`assay.connect`: policies of this process, evaluated by a service that cannot reach it."""

import contextlib
import tempfile
import threading
import time
import unittest

import numpy as np
from service import REFERENCE, SCENARIO, RunningService, running
from testlib.limits import PATIENCE_S

import assay
from assay import errors


class OfFunctions(unittest.TestCase):
    """A function runs in this process; the service's simulator drives it."""

    service: RunningService

    @classmethod
    def setUpClass(cls) -> None:
        cls.service = cls.enterClassContext(running())

    def connect(self, policy, *, episodes: int = 1, **options) -> assay.Result:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        return assay.connect(
            policy, scenario=SCENARIO, server=self.service.url, key=self.service.service.key, episodes=episodes, seed=0,
            out=folder, record="none", **options,
        )  # fmt: skip

    def test_the_verdict_is_that_of_a_local_verification(self) -> None:
        def lean(observation):
            return np.clip(10 * observation["pole_angle"], -1, 1) if "pole_angle" in observation else np.zeros(1)

        with tempfile.TemporaryDirectory() as folder:
            local = assay.verify(lean, scenario=SCENARIO, episodes=2, seed=0, out=folder, record="none")
        result = self.connect(lean, episodes=2)
        self.assertEqual((result.verdict, result.score), (local.verdict, local.score))
        hashes = [[episode.trace_hash for episode in one.episodes] for one in (result, local)]
        self.assertEqual(hashes[0], hashes[1])
        self.assertEqual((result.report.policy_identity, result.report.policy_name), ("declared", "lean"))
        self.assertTrue((result.folder / "report.html").is_file())
        self.assertIn("declared", result._repr_html_())

    def test_a_path_runs_in_the_jail_of_this_machine(self) -> None:
        result = self.connect(REFERENCE, name="mine")
        self.assertEqual((result.verdict, result.report.policy_name), ("SAFE", "mine"))
        self.assertFalse(result.is_measured)

    def test_an_exception_is_the_policys_error(self) -> None:
        def raising(observation):
            raise RuntimeError("no plan")

        result = self.connect(raising)
        self.assertEqual((result.verdict, result.episodes[0].error.code), ("INCONCLUSIVE", "server_error"))
        self.assertIn("no plan", result.episodes[0].error.log_tail)
        self.assertIsInstance(result.policy_exception, RuntimeError)

    def test_nonsense_is_the_policys_error(self) -> None:
        for answer in ("north", None, np.zeros(7), [[float("nan")]], np.zeros((0, 1))):
            with self.subTest(answer=answer):
                error = self.connect(lambda observation, answer=answer: answer).episodes[0].error
                self.assertIn(error.code, ("bad_action", "server_error", "protocol"))

    def test_a_policy_that_blocks_times_out(self) -> None:
        free = threading.Event()
        self.addCleanup(free.set)

        def blocking(observation):
            free.wait(PATIENCE_S)
            return np.zeros(1)

        result = self.connect(blocking)
        self.assertEqual((result.verdict, result.episodes[0].status), ("INCONCLUSIVE", "policy_timeout"))

    def test_a_wrong_key_says_so(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(errors.ProgramError, "key"):
            assay.connect(
                REFERENCE, scenario=SCENARIO, server=self.service.url, key="assay_0011223344556677_" + 64 * "0", out=folder
            )

    def test_a_connection_is_offered_once(self) -> None:
        with self.service.client() as client:
            job = client.submit(scenario=SCENARIO, connect=True, num_episodes=1)
            offer = client.create_connection(job.job_id)
            self.assertEqual(offer.connection_url, f"{self.service.url}/connections/{job.job_id}")
            self.assertTrue(offer.token.startswith("assayc_"))
            client.cancel(job.job_id)
            with self.assertRaises(errors.ApiError) as refused:
                client.create_connection(job.job_id)
            self.assertEqual(refused.exception.status, 409)


class OverRestarts(unittest.TestCase):
    """The service is killed in the middle of an episode and started again."""

    def test_the_job_goes_on(self) -> None:
        seen: list[float] = []

        def slow(observation):
            seen.append(observation["time"])
            time.sleep(0.01)
            return np.zeros(1)

        with running() as service, tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            killer = threading.Thread(target=lambda: restart(service, seen))
            stack.callback(killer.join)
            killer.start()
            result = assay.connect(
                slow, scenario=SCENARIO, server=service.url, key=service.service.key, episodes=2, seed=0, out=folder,
                record="none",
            )  # fmt: skip
        self.assertEqual(len(result.episodes), 2)
        self.assertEqual([episode.error for episode in result.episodes], [None, None])


def restart(service: RunningService, seen: list[float]) -> None:
    """Kills the service once the policy has seen something, and starts it again."""
    end = time.monotonic() + PATIENCE_S
    while len(seen) < 20 and time.monotonic() < end:
        time.sleep(0.01)
    service.restart()


if __name__ == "__main__":
    unittest.main()
