"""The client against a real service."""

import asyncio
import pathlib
import socket
import subprocess
import tempfile
import threading
import unittest

from service import PROGRAM, SCENARIO, policy, running
from testlib.limits import PATIENCE_S

import assay
from assay import errors

NO_SUCH_ID = "00000000-0000-7000-8000-000000000000"


class Verifying(unittest.TestCase):
    """The ordinary way: submit, wait, look, download."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.running = cls.enterClassContext(running())
        cls.client = cls.enterClassContext(cls.running.client())
        cls.job = cls.client.submit(policy(), scenario=SCENARIO, num_episodes=2, seed=7, record="none")
        cls.ended = cls.client.wait(cls.job.job_id, timeout_s=PATIENCE_S, videos=True)

    def test_a_job_has_its_verdict(self) -> None:
        self.assertEqual((self.job.status, self.ended.status), ("QUEUED", "COMPLETED"))
        self.assertEqual((self.ended.verdict, self.ended.policy_identity), ("SAFE", "measured"))
        self.assertEqual([episode.episode for episode in self.ended.episode_details], [0, 1])
        self.assertGreater(self.ended.episode_details[0].clauses[0].robustness, 0)
        self.assertEqual(self.client.report(self.job.job_id).verdict, "SAFE")
        self.assertIn("<html", self.client.report_page(self.job.job_id))
        self.assertEqual(self.client.episodes(self.job.job_id, limit=1).total, 2)
        listed = self.client.jobs(scenario=SCENARIO, verdict="SAFE")
        self.assertIn(self.job.job_id, [job.job_id for job in listed.jobs])

    def test_evidence_is_complete_and_signed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            names = self.client.download_evidence(self.job.job_id, folder)
            self.assertIn("episodes/000/trace.parquet", names)
            keys = pathlib.Path(folder) / "keys.json"
            self.client.download("/.well-known/assay-keys.json", keys)
            command = [PROGRAM, "attest", "verify", folder, "--keys", keys, "--allow-missing"]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_download_with_another_hash_is_refused_and_leaves_nothing(self) -> None:
        artifact = self.ended.episode_details[0].evidence[0]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "file"
            with self.assertRaisesRegex(errors.DownloadError, "the report names 0000"):
                self.client.download(artifact.url, path, sha256="0" * 64)
            self.assertEqual(list(path.parent.iterdir()), [])

    def test_the_key_is_sent_to_its_service_only(self) -> None:
        with self.assertRaisesRegex(errors.AssayError, "its key is not sent there"):
            self.client.download("http://127.0.0.1:1/artifacts/x", "/nowhere")

    def test_events_end_with_the_job_and_resume_after_an_id(self) -> None:
        events = list(self.client.events(self.job.job_id))
        self.assertTrue(events[-1].done)
        last = events[-1].raw["id"]
        self.assertEqual(list(self.client.events(self.job.job_id, last_event_id=last)), [])

    def test_replay_agrees(self) -> None:
        self.assertEqual(self.client.replay(self.job.job_id, episode=1).same, True)

    def test_the_library_can_be_read(self) -> None:
        self.assertIn(SCENARIO, [scenario.id for scenario in self.client.scenarios().scenarios])
        self.assertEqual(self.client.scenario(SCENARIO).id, SCENARIO)
        self.assertEqual(self.client.scenario_spec(SCENARIO).action_dim, 1)
        collection = self.client.collections().collections[0]
        self.assertEqual(self.client.collection(collection.id).id, collection.id)
        self.assertIn("base", [runtime.name for runtime in self.client.runtimes().runtimes])
        self.assertEqual(self.client.community_scenarios().total, 0)
        self.assertEqual(self.client.seasons().seasons, [])
        self.assertEqual(self.client.leaderboard(scenario=SCENARIO).entries, [])
        self.assertEqual(self.client.submissions().total, 0)
        self.assertEqual(self.client.models().total, 0)
        self.assertEqual(self.client.webhook_deliveries().total, 0)
        self.assertEqual(self.client.index().name, "assay")
        self.assertTrue(self.client.health() and self.client.ready() and self.client.signing_keys().keys)
        self.assertIn("assay_", self.client.metrics())

    def test_a_preflight_finds_mistakes(self) -> None:
        found = self.client.preflight(policy(), scenario=SCENARIO)
        self.assertEqual([finding for finding in found.findings if finding.level == "error"], [])

    def test_a_model_is_uploaded_once(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "weights.bin"
            path.write_bytes(bytes(range(256)) * 100_000)
            model = self.client.upload_model(path, progress=False)
            self.assertEqual((model.offset, model.name), (25_600_000, "weights.bin"))
            self.assertEqual(self.client.upload_model(path, progress=False).sha256, model.sha256)
            self.client.delete_model(model.sha256)
            self.assertEqual(self.client.models().total, 0)

    def test_asyncio_has_the_same_methods(self) -> None:
        async def use() -> str:
            async with assay.AsyncClient(self.running.url, self.running.service.key) as client:
                job = await client.submit(policy(), scenario=SCENARIO, num_episodes=1)
                states = [update.status async for update in client.events(job.job_id)]
                assert states[-1] == "COMPLETED", states
                return str((await client.wait(job.job_id)).verdict)

        self.assertEqual(asyncio.run(use()), "SAFE")

    def test_a_cancelled_task_stops_at_once(self) -> None:
        async def use() -> None:
            async with assay.AsyncClient(self.running.url, self.running.service.key) as client:
                job = await client.submit(policy(), scenario=SCENARIO, num_episodes=200)
                waiting = asyncio.create_task(client.wait(job.job_id))
                await asyncio.sleep(0)
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                self.assertEqual((await client.cancel(job.job_id)).status, "CANCELLED")

        asyncio.run(use())


class Refusals(unittest.TestCase):
    """Each mistake is an error of its own type, which says what to do."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.running = cls.enterClassContext(running())
        cls.client = cls.enterClassContext(cls.running.client())

    def test_what_the_service_refuses(self) -> None:
        client = self.client
        with self.assertRaises(errors.InvalidRequest) as caught:
            client.submit(policy(), scenario="no_such_scenario")
        self.assertEqual((caught.exception.code, caught.exception.details["field"]), ("VALIDATION_ERROR", "scenario"))
        self.assertRegex(str(caught.exception), r"\(field 'scenario'\)$")
        with self.assertRaises(errors.NotFound):
            client.job(NO_SUCH_ID)
        with self.assertRaises(errors.NotFound):
            client.job("../keys")
        with self.assertRaises(errors.Unauthorized):
            assay.Client(self.running.url, key=None).jobs()
        key = client.create_key("reader", ["read"])
        with self.assertRaises(errors.Forbidden) as forbidden:
            assay.Client(self.running.url, key.key).submit(policy(), scenario=SCENARIO)
        self.assertIn("verify", str(forbidden.exception))

    def test_a_revoked_key_ends_a_wait(self) -> None:
        key = self.client.create_key("short-lived", ["read", "verify"])
        other = assay.Client(self.running.url, key.key)
        job = other.submit(policy(), scenario=SCENARIO, num_episodes=500)
        revoked = threading.Event()

        def revoke(_update: object) -> None:
            if not revoked.is_set():
                revoked.set()
                self.client.revoke_key(str(key.id))

        with self.assertRaises(errors.Unauthorized):
            other.wait(job.job_id, timeout_s=PATIENCE_S, on_update=revoke)
        self.client.cancel(job.job_id)

    def test_a_wait_that_is_too_short_says_so(self) -> None:
        job = self.client.submit(policy(), scenario=SCENARIO, num_episodes=500)
        with self.assertRaisesRegex(errors.WaitTimeout, "it continues on the service"):
            self.client.wait(job.job_id, timeout_s=0.0)
        self.client.cancel(job.job_id)

    def test_workers_are_created_drained_and_revoked(self) -> None:
        created = self.client.create_worker("rack-1", expires_at="2099-01-01T00:00:00Z")
        self.assertTrue(str(created.token).startswith("assay_worker_"))
        self.assertEqual(self.client.drain_worker("rack-1").state, "DRAINING")
        self.assertEqual(self.client.drain_worker("rack-1", drain=False).state, "ACTIVE")
        self.client.revoke_worker("rack-1")
        found = {worker.name: worker.state for worker in self.client.workers().workers}
        self.assertEqual(found["rack-1"], "REVOKED")
        with self.assertRaises(assay.errors.Conflict):
            self.client.create_worker("rack-1")

    def test_seasons_are_opened_and_closed(self) -> None:
        scenario = "open_drawer"
        opened = self.client.open_season(scenario)
        self.assertEqual((opened.number, opened.state, opened.secret), (1, "OPEN", None))
        with self.assertRaises(assay.errors.Conflict):
            self.client.open_season(scenario)
        self.assertEqual(self.client.close_season(scenario, top=0).state, "CLOSING")

    def test_a_rotated_key_is_used_from_then_on(self) -> None:
        key = self.client.create_key("rotated", ["read"])
        client = assay.Client(self.running.url, key.key)
        self.assertNotEqual(client.rotate_key().key, key.key)
        self.assertEqual(client.jobs(limit=1).limit, 1)


class Outages(unittest.TestCase):
    """A service that is away, restarts, or is something else."""

    def test_no_service(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            client = assay.Client(f"http://127.0.0.1:{taken.getsockname()[1]}", "key", retries=1)
            with self.assertRaisesRegex(errors.ConnectionFailed, "Is the service running"):
                client.scenarios()

    def test_something_else_answers(self) -> None:
        with assay.serve(lambda observation: [0.0]) as other, self.assertRaises(errors.IncompatibleServer):
            assay.Client(other.url, "key").scenarios()

    def test_no_address(self) -> None:
        with self.assertRaisesRegex(ValueError, "http://host:port"):
            assay.Client("ftp://somewhere", "key")

    def test_a_wait_survives_a_killed_service(self) -> None:
        with running() as service:
            client = self.enterContext(service.client())
            job = client.submit(policy(), scenario=SCENARIO, num_episodes=30)
            restarted = threading.Event()

            def restart(_update: object) -> None:
                if not restarted.is_set():
                    restarted.set()
                    service.restart()

            ended = client.wait(job.job_id, timeout_s=PATIENCE_S, on_update=restart)
            self.assertEqual((ended.status, ended.verdict, len(ended.episode_details)), ("COMPLETED", "SAFE", 30))


if __name__ == "__main__":
    unittest.main()
