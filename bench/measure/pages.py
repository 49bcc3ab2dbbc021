"""Measures the pages against the API's answers about the same: a verdict of a hundred episodes, and a list of jobs."""

import http.client
import os
import subprocess
import tempfile
import time
import urllib.parse
from contextlib import contextmanager
from pathlib import Path

from .common import LISTENING, environment, result, wait_for
from .job import Client, form, policy_zip

SCENARIO = "cartpole_keepin"
POLICY = f"examples/policies/{SCENARIO}/reference"
EPISODES = 100
# Jobs in the list: as many as a page has.
JOBS = 20
WARM_UP, REQUESTS = 20, 200
LIMIT_S = 600
RATES = [f"limits.rate.{name}_per_minute=1000000" for name in ("get", "verify", "pages")]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def run(bench):
    with tempfile.TemporaryDirectory() as data, serving(bench, Path(data)) as (server, address, client):
        job = completed(bench, client, EPISODES)
        for _ in range(JOBS - 1):
            completed(bench, client, 1)
        visit = Visitor(address, client.key, server.pid)
        pairs = {
            f"page of a verdict of {EPISODES} episodes": (f"/ui/verifications/{job}", f"/verify/{job}", 10),
            f"page with {JOBS} jobs": ("/ui/jobs", f"/verify?limit={JOBS}", 3),
        }
        return [compared(bench, visit, name, *pair) for name, pair in pairs.items()]


def compared(bench, visit, name, page, answer, target):
    ratios, detail = [], {}
    for _ in range(bench.repetitions):
        # In turns, so that other work on the machine slows both.
        shown, told = visit.cost(page), visit.cost(answer)
        ratios.append(shown / told)
        detail = {"page, us": 1e6 * shown, "JSON, us": 1e6 * told}
    return result(f"{name}: processor time against the JSON", ratios, ("<=", target), "x", detail)


@contextmanager
def serving(bench, data):
    command = [bench.assay, "serve", "--listen", "127.0.0.1:0", "--data", data / "data", "--lanes", "2"]
    for rate in RATES:
        command += ["--set", rate]
    with open(data / "log", "wb") as log:
        server = subprocess.Popen(command, cwd=bench.root, env=environment(), stderr=log)
    try:
        found = wait_for(lambda: LISTENING.search((data / "log").read_text()))
        yield server, (found[1], int(found[2])), Client(f"http://{found[1]}:{found[2]}", data / "data" / "bootstrap-key")
    finally:
        server.terminate()
        server.wait()


def completed(bench, client, episodes):
    """Runs a job to its verdict; returns its id."""
    fields = {"scenario": SCENARIO, "num_episodes": episodes, "seed": 1, "record": "none"}
    job = client.request("/verify", *form(fields, policy_zip(bench.root / POLICY)))["job_id"]
    until = time.monotonic() + LIMIT_S
    while client.request(f"/verify/{job}")["status"] != "COMPLETED":
        if time.monotonic() > until:
            raise SystemExit(f"job {job} did not complete")
        time.sleep(0.2)
    return job


class Visitor:
    """Somebody who is signed in, on one connection."""

    def __init__(self, address, key, pid):
        self.pid, self.connection = pid, http.client.HTTPConnection(*address, timeout=LIMIT_S)
        head = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://%s:%d" % address}
        self.connection.request("POST", "/ui/sign-in", urllib.parse.urlencode({"key": key}), head)
        answer = self.connection.getresponse()
        answer.read()
        self.head = {"Cookie": answer.headers["Set-Cookie"].split(";")[0]}

    def cost(self, path):
        """Returns the processor time of the server for a request, in s."""
        for _ in range(WARM_UP):
            self.ask(path)
        before = self.spent()
        for _ in range(REQUESTS):
            self.ask(path)
        return (self.spent() - before) / REQUESTS

    def ask(self, path):
        self.connection.request("GET", path, headers=self.head)
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path} was answered {answer.status}")

    def spent(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:13])) / TICKS_PER_S
