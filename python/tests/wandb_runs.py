"""`assay report --wandb-offline` against `wandb sync`, which sends the run to a server that keeps what it gets."""

import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from http.server import BaseHTTPRequestHandler
from typing import Any

from recorded import listening
from service import EXAMPLES, PROGRAM, SCENARIO
from testlib.limits import PATIENCE_S

EPISODES = 3


class Server:
    """The part of Weights & Biases' API that a synchronisation uses."""

    def __init__(self) -> None:
        #: Variables of each call of the run's mutation, lines of each stream, and uploaded files.
        self.runs: list[dict[str, Any]] = []
        self.streams: dict[str, list[dict[str, Any]]] = {}
        self.exit_code: int | None = None
        self.files: dict[str, bytes] = {}

    def answer(self, path: str, host: str, body: bytes) -> Any:
        if path.startswith("/upload/"):
            self.files[path.removeprefix("/upload/")] = body
            return {}
        sent = json.loads(body)
        if path.endswith("/file_stream"):
            for name, part in sent.get("files", {}).items():
                self.streams.setdefault(name, []).extend(json.loads(line) for line in part["content"])
            self.exit_code = sent.get("exitcode", self.exit_code)
            return {"exitcode": None, "limits": {}}
        return {"data": self.data(sent["operationName"], sent.get("variables", {}), host)}

    def data(self, operation: str, variables: dict[str, Any], host: str) -> Any:
        if operation == "UpsertBucket":
            self.runs.append(variables)
            project = {"id": "project", "name": variables["project"], "entity": {"id": "entity", "name": "people"}}
            run = {"id": "run", "name": variables["name"], "displayName": "shown", "description": "", "config": "{}"}
            return {"upsertBucket": {"inserted": True, "bucket": run | {"sweepName": None, "project": project}}}
        if operation == "CreateRunFiles":
            files = [{"name": name, "uploadUrl": f"http://{host}/upload/{name}"} for name in variables["files"]]
            return {"createRunFiles": {"runID": "run", "uploadHeaders": [], "files": files}}
        return {"serverInfo": {"features": []}, "viewer": {"id": "person", "entity": "people", "teams": {"edges": []}}}

    def handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def give(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                data = json.dumps(server.answer(self.path, self.headers["Host"], body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_PUT = give

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


class OfflineRuns(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="assay-wandb-")))
        policy = EXAMPLES / SCENARIO / "reckless"
        options = ["--scenario", SCENARIO, "--episodes", EPISODES, "--seed", 7, "--record", "none"]
        cls.assay("verify", policy, *options, "--out", cls.folder / "out")
        cls.report = json.loads((cls.folder / "out/report.json").read_text())

    @classmethod
    def assay(cls, *arguments: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S)

    def export(self, folder: str) -> pathlib.Path:
        done = self.assay("report", self.folder / "out", "--wandb-offline", self.folder / folder, "--fail-on", "never")
        self.assertEqual(done.returncode, 0, done.stderr)
        return pathlib.Path(done.stdout.strip())

    def test_wandb_takes_the_run(self) -> None:
        run, server = self.export("runs"), Server()
        self.assertRegex(run.name, r"^offline-run-\d{8}_\d{6}-[0-9a-f]{32}$")
        with listening(server.handler()) as url:
            settings = {"WANDB_BASE_URL": url, "WANDB_API_KEY": "a" * 40, "WANDB_ERROR_REPORTING": "false"}
            home = {"HOME": str(self.folder), "WANDB_CACHE_DIR": str(self.folder / "cache")}
            done = subprocess.run(
                [sys.executable, "-m", "wandb", "sync", run], cwd=self.folder, env={**os.environ, **settings, **home},
                capture_output=True, text=True, timeout=PATIENCE_S,
            )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Finished syncing", done.stdout + done.stderr)
        # Later calls contain only what they change.
        sent: dict[str, Any] = {}
        for call in server.runs:
            sent |= {name: value for name, value in call.items() if value is not None}
        self.assertEqual((sent["name"], sent["project"]), (self.report["job_id"].replace("-", ""), "assay"))
        self.assertEqual((sent["jobType"], sent["groupName"]), ("verification", SCENARIO))
        self.assertEqual((sent["displayName"], sent["tags"]), ("reckless: UNSAFE", ["UNSAFE", SCENARIO]))
        config = json.loads(sent["config"])
        self.assertEqual(config["policy_sha256"]["value"], self.report["policy_sha256"])
        self.assertEqual((config["seed"]["value"], config["episodes"]["value"]), (7, EPISODES))
        rows = server.streams["wandb-history.jsonl"]
        self.assertEqual([row["_step"] for row in rows], list(range(EPISODES)))
        for row, episode in zip(rows, self.report["episode_details"], strict=True):
            self.assertEqual((row["episode"], row["success"]), (episode["episode"], int(episode["success"])))
            self.assertEqual(row["safety_score"], episode["safety_score"])
            for clause in episode["clauses"]:
                self.assertEqual(row[f"margin/{clause['id']}"], clause["robustness"])
        summary = server.streams["wandb-summary.json"][-1]
        self.assertEqual(summary["verdict"], "UNSAFE")
        self.assertIn(self.report["reason"][1:], summary["reason"])
        worst = min(row["margin/keep_in"] for row in rows)
        self.assertEqual(summary["margin/keep_in"], worst)
        self.assertEqual(server.exit_code, 0, "a verdict is no failure of the run")
        self.assertEqual(json.loads(server.files["report.json"]), self.report)

    def test_no_record_has_a_field_that_wandb_does_not_know(self) -> None:
        from wandb.proto.wandb_internal_pb2 import Record
        from wandb.sdk.internal.datastore import DataStore

        (log,) = self.export("known").glob("run-*.wandb")
        store, kinds = DataStore(), []
        store.open_for_scan(str(log))
        while (data := store.scan_data()) is not None:
            record = Record.FromString(data)
            record.DiscardUnknownFields()
            self.assertEqual(record.ByteSize(), len(data), record)
            kinds.append(record.WhichOneof("record_type"))
        store.close()
        episodes = ["history"] * EPISODES
        self.assertEqual(kinds, ["header", "run", "metric", "metric", *episodes, "summary", "files", "exit"])

    def test_an_existing_run_is_not_overwritten(self) -> None:
        run = self.export("twice")
        done = self.assay("report", self.folder / "out", "--wandb-offline", run.parent)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("exists already: remove it, or choose another folder", done.stderr)


if __name__ == "__main__":
    unittest.main()
