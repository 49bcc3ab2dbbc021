"""The client of this version with the services of other versions: recorded sessions of releases, and a later
service."""

import dataclasses
import json
import pathlib
import re
import tempfile
import unittest
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import quote, unquote

from recorded import API, CONTRACTS, DOCUMENT, SESSIONS, Later, Session, listening
from service import SCENARIO, policy, running
from testlib import contract
from testlib.limits import PATIENCE_S

import assay
from assay import Client, errors

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PLACE = re.compile(r"\{(\w+)\}")

#: What a client calls for a request of a session; `kept` has the ids of earlier answers, `sent` the form or JSON.
CALLS: dict[str, Callable[[Client, dict[str, str], dict[str, Any]], Any]] = {
    "GET /healthz": lambda client, kept, sent: client.health(),
    "GET /": lambda client, kept, sent: client.index(),
    "GET /scenarios": lambda client, kept, sent: client.scenarios(),
    f"GET /scenarios/{SCENARIO}": lambda client, kept, sent: client.scenario(SCENARIO),
    f"GET /scenarios/{SCENARIO}/spec": lambda client, kept, sent: client.scenario_spec(SCENARIO),
    "GET /scenarios/nothing": lambda client, kept, sent: client.scenario("nothing"),
    "GET /collections": lambda client, kept, sent: client.collections(),
    "GET /community/scenarios": lambda client, kept, sent: client.community_scenarios(),
    "GET /runtimes": lambda client, kept, sent: client.runtimes(),
    "GET /models": lambda client, kept, sent: client.models(),
    "GET /webhooks/deliveries": lambda client, kept, sent: client.webhook_deliveries(),
    "POST /keys": lambda client, kept, sent: client.create_key(**sent),
    "GET /keys": lambda client, kept, sent: client.keys(),
    "DELETE /keys/{key}": lambda client, kept, sent: client.revoke_key(kept["key"]),
    "POST /verify": lambda client, kept, sent: client.submit(policy(), **sent),
    "GET /verify/{job}": lambda client, kept, sent: client.job(kept["job"]),
    "GET /verify/{job}/episodes": lambda client, kept, sent: client.episodes(kept["job"]),
    "GET /verify/{job}/report.json": lambda client, kept, sent: client.report(kept["job"]),
    "GET /verify/{job}/attestation": lambda client, kept, sent: client.attestation(kept["job"]),
    "GET /verify?limit=5": lambda client, kept, sent: client.jobs(limit=5),
    "GET /verify?limit=0": lambda client, kept, sent: client.jobs(limit=0),
    "POST /verify/{job}/replay": lambda client, kept, sent: client.replay(kept["job"], **sent),
    "POST /verify/{job}/cancel": lambda client, kept, sent: client.cancel(kept["job"]),
    "GET /verify/019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30": lambda client, kept, sent: client.job(
        "019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30"
    ),
    "DELETE /verify/{job}": lambda client, kept, sent: client.erase(kept["job"]),
    "POST /preflight": lambda client, kept, sent: client.preflight(policy(), **sent),
    "POST /submissions": lambda client, kept, sent: client.submit_to_arena(policy(), **sent),
    "POST /submissions/{submission}/cancel": lambda client, kept, sent: client.cancel_submission(kept["submission"]),
    "GET /submissions/{submission}": lambda client, kept, sent: client.submission(kept["submission"]),
    "GET /submissions?limit=5": lambda client, kept, sent: client.submissions(limit=5),
    "GET /seasons": lambda client, kept, sent: client.seasons(),
    f"GET /leaderboard?scenario={SCENARIO}": lambda client, kept, sent: client.leaderboard(scenario=SCENARIO),
    "GET /leaderboard": lambda client, kept, sent: client.leaderboard(),
}
REFUSALS = {400: errors.InvalidRequest, 404: errors.NotFound, 409: errors.Conflict, 410: errors.Gone}


def lost(typed: Any, then: Any, place: str = "") -> list[str]:
    """Lists what an answer of then contains and its class does not."""
    if isinstance(then, dict):
        if dataclasses.is_dataclass(typed):
            have = {field.name for field in dataclasses.fields(typed)}
            gone = [f"{place}/{name}" for name in then if name not in have]
            inner = {name: getattr(typed, name) for name in then if name in have}
        else:
            gone, inner = [], typed if isinstance(typed, dict) else {}
            gone = [f"{place}/{name}" for name in then if name not in inner]
        return gone + [text for name in inner for text in lost(inner[name], then[name], f"{place}/{name}")]
    if isinstance(then, list) and isinstance(typed, list):
        return [text for at, inner in enumerate(then) for text in lost(typed[at], inner, f"{place}/{at}")]
    return [] if typed == then else [f"{place} is {typed!r}, {then!r} then"]


class Before(unittest.TestCase):
    """Services of each release, in their own words: `fixtures/sessions/VERSION.json` is what they answered."""

    def test_each_release_gets_its_requests_and_loses_no_field(self) -> None:
        fixtures = sorted(SESSIONS.glob("*.json"))
        self.assertTrue(fixtures)
        for fixture in fixtures:
            with self.subTest(release=fixture.stem):
                self.replay(json.loads(fixture.read_text()))

    def replay(self, steps: list[dict[str, Any]]) -> None:
        session, kept = Session(steps), dict[str, str]()
        with listening(session.handler()) as url, Client(url, "key", retries=0) as client:
            for step in steps:
                ask, answer, sent = step["ask"], step["answer"], step.get("form") or step.get("json") or {}
                self.assertIn(ask, CALLS, "add the call for this request")
                if answer["status"] < 400:
                    typed = CALLS[ask](client, kept, sent)
                    self.assertEqual(lost(typed, answer["body"]), [], ask)
                    kept |= {name: answer["body"][field] for name, field in step.get("keep", {}).items()}
                else:
                    with self.assertRaises(REFUSALS[answer["status"]]) as caught:
                        CALLS[ask](client, kept, sent)
                    self.assertEqual(caught.exception.code, answer["body"]["error"]["code"], ask)
                self.check(ask, kept, step.get("form") or step.get("json"), session.asked[-1])
        self.assertEqual(len(session.asked), len(steps))

    def check(self, ask: str, kept: dict[str, str], sent: Any, asked: tuple[str, str, Any]) -> None:
        """Checks that the request was one that the service of then understood."""
        method, path = ask.split(" ")
        path = PLACE.sub(lambda found: quote(kept[found[1]], safe=""), path)
        self.assertEqual((asked[0], unquote(asked[1].removeprefix(API))), (method, unquote(path)))
        if isinstance(sent, dict):
            self.assertEqual({name: asked[2][name] for name in sent}, sent)
            self.assertEqual(set(asked[2]) - set(sent), set(), f"{ask} has fields that this service did not know")

    def test_the_contract_grows_and_its_changes_are_listed(self) -> None:
        text = DOCUMENT.read_text()
        today = set(contract.lines(json.loads(text[text.index("\n{") :])))
        listed = (REPOSITORY / "docs/contract-changes.md").read_text()
        fixtures = sorted(CONTRACTS.glob("*.txt"))
        self.assertEqual([fixture.stem for fixture in fixtures], sorted(fixture.stem for fixture in SESSIONS.glob("*.json")))
        for fixture in fixtures:
            then = set(fixture.read_text().splitlines())
            self.assertEqual(sorted(then - today), [], f"{fixture.stem} had these, and clients use them")
            objects = {line.split(".")[0] for line in then}
            added = [line for line in today - then if " " in line or line.split(".")[0] in objects]
            unlisted = sorted(line for line in added if f"`{line}`" not in listed)
            self.assertEqual(unlisted, [], "list these in docs/contract-changes.md")

    def test_fields_of_today_are_none(self) -> None:
        steps = json.loads((SESSIONS / "0.1.0.json").read_text())
        step = next(step for step in steps if step["ask"] == "POST /preflight")
        with listening(Session([step]).handler()) as url, Client(url) as client:
            found = client.preflight(policy(), scenario=SCENARIO)
        absent = {field.name for field in dataclasses.fields(found)} - set(step["answer"]["body"]) - {"raw"}
        self.assertTrue(absent, "the fixture of the first release lacks fields of today")
        self.assertEqual({getattr(found, name) for name in absent}, {None})


class After(unittest.TestCase):
    """A service of a later release, which adds and never removes."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.running = cls.enterClassContext(running())
        renamed = {"COMPLETED": "PUBLISHED", "RUNNING": "WARMING_UP", "running": "warming", "measured": "notarised"}
        url = cls.enterClassContext(listening(Later(cls.running.url, renamed).handler()))
        cls.client = cls.enterClassContext(Client(url, cls.running.service.key))

    def test_more_fields_states_and_events_change_nothing(self) -> None:
        job = self.client.submit(policy(), scenario=SCENARIO, num_episodes=3, seed=7)
        updates = []
        ended = self.client.wait(job.job_id, progress=True, on_update=updates.append)
        self.assertEqual((ended.status, ended.verdict, ended.policy_identity), ("PUBLISHED", "SAFE", "notarised"))
        self.assertEqual([update.done for update in updates[:-1]], [False] * (len(updates) - 1))
        self.assertEqual((updates[-1].status, updates[-1].done), ("PUBLISHED", True))
        self.assertTrue(all(update.status and update.progress for update in updates), updates)
        self.assertEqual(ended.raw["added_last"], "unknown")
        self.assertEqual(ended.episode_details[0].raw["added_first"], {"nested": [1]})
        self.assertEqual(len(ended.episode_details), 3)
        late = self.client.wait(job.job_id, timeout_s=PATIENCE_S)
        self.assertEqual(late.job_id, job.job_id)

    def test_what_has_a_deadline_is_still_late(self) -> None:
        job = self.client.submit(policy(), scenario=SCENARIO, num_episodes=500)
        with self.assertRaises(errors.WaitTimeout):
            self.client.wait(job.job_id, timeout_s=0.0)
        self.client.cancel(job.job_id)

    def test_lists_refusals_and_files(self) -> None:
        client = self.client
        self.assertIn(SCENARIO, [scenario.id for scenario in client.scenarios().scenarios])
        self.assertEqual(client.scenario_spec(SCENARIO).action_dim, 1)
        self.assertEqual(client.index().name, "assay")
        self.assertIn("base", [runtime.name for runtime in client.runtimes().runtimes])
        with self.assertRaises(errors.InvalidRequest) as caught:
            client.submit(policy(), scenario="no_such_scenario")
        self.assertEqual((caught.exception.details or {})["field"], "scenario")
        job = client.submit(policy(), scenario=SCENARIO, num_episodes=1, seed=7, record="none")
        client.wait(job.job_id)
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("episodes/000/trace.parquet", client.download_evidence(job.job_id, folder))


class Elsewhere(unittest.TestCase):
    """Services that lack what the client asks for, and what is no service."""

    @staticmethod
    def handler(answers: dict[str, tuple[int, Any]]) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, body = answers.get(self.path, answers["else"])
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def ask(self, answers: dict[str, tuple[int, Any]], kind: type[Exception], text: str) -> None:
        with listening(self.handler(answers)) as url, Client(url, retries=0) as client:
            with self.assertRaisesRegex(kind, text):
                client.runtimes()

    def test_a_service_without_the_operation(self) -> None:
        with running() as service, service.client() as client, self.assertRaises(errors.UnsupportedOperation) as caught:
            client._get("/invented")
        self.assertRegex(str(caught.exception), r"is assay \S+, which has no GET /invented: .*upgrade the older")

    def test_an_api_of_another_version(self) -> None:
        index = {"name": "assay", "version": "9.0.0", "api": "https://assay.example/v9"}
        nothing = (404, {"errors": ["no such path"]})
        self.ask({"/": (200, index), "else": nothing}, errors.IncompatibleServer, r"assay 9\.0\.0, whose API is .*/v9; .* /v1")

    def test_answers_of_another_kind(self) -> None:
        for body in ([], "text", 7, None):
            self.ask({"else": (200, body)}, errors.IncompatibleServer, "did not answer with an object")
        self.ask({"else": (404, {"error": {}})}, errors.NotFound, "UNKNOWN")
        for body in ([], {"error": "text"}, {"detail": "Not Found"}):
            self.ask({"else": (404, body)}, errors.IncompatibleServer, "not as a service of assay does")
            self.ask({"else": (500, body)}, errors.IncompatibleServer, "not as a service of assay does")
        self.ask({"else": (418, {"error": {"code": "TEAPOT", "details": ["x"]}})}, errors.ApiError, "TEAPOT")


if __name__ == "__main__":
    unittest.main()
