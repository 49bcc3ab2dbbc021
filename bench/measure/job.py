"""Measures the share of a job's time that is not physics or policy: three episodes on a warm server with one lane."""

import json
import re
import socket
import subprocess
import tempfile
import time
import urllib.request
import uuid
import zipfile
from io import BytesIO
from pathlib import Path
from statistics import median

from .common import LOG_COSTS, POLICY, SCENARIO, environment, episodes_in, result, timestamp

EPISODES = 3
JOBS = 6
TARGET = ("<=", 0.20)
# Pause after a job, in which pool and lane become warm again.
PAUSE_S = 1.5
START_LIMIT_S = 60
JOB_LIMIT_S = 60
EVENT = re.compile(r"^(\S+)Z .* (claimed|concluded) .*job\.id=(\S+)")


def run(bench):
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        jobs = serve(bench, folder, log)
        text = log.read_text()
    spans = [timeline(text, job) for job in jobs[1:]]
    shares = [1 - (span["physics"] + span["policy"]) / span["job"] for span in spans]
    detail = {f"{name}, ms": median(span[name] for span in spans) for name in spans[0]}
    return [result("job of 3 episodes, warm: share not physics or policy", shares, TARGET, "", detail)]


def serve(bench, folder, log):
    """Runs jobs one after another on a separate server; returns their ids."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % probe.getsockname()[1]
    data = Path(folder) / "data"
    command = [bench.assay, "serve", "--listen", address, "--data", data, "--lanes", "1"]
    with open(log, "wb") as file:
        server = subprocess.Popen(command, cwd=bench.root, env=environment() | LOG_COSTS, stderr=file)
        try:
            client = Client(f"http://{address}", data / "bootstrap-key")
            archive = policy_zip(bench.root / POLICY)
            return [client.job(archive, seed) for seed in range(JOBS + 1)]
        finally:
            server.terminate()
            server.wait()


class Client:
    """A client of the service with the key that the service wrote on its first start."""

    def __init__(self, base, key_file):
        self.base, until = base, time.monotonic() + START_LIMIT_S
        while True:
            try:
                urllib.request.urlopen(f"{base}/healthz", timeout=5).close()
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        self.key = key_file.read_text().strip()

    def request(self, path, body=None, kind=None):
        headers = {"Authorization": f"Bearer {self.key}"} | ({"Content-Type": kind} if kind else {})
        request = urllib.request.Request(self.base + path, body, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def job(self, archive, seed):
        """Pauses, submits a job and waits for its end; returns its id."""
        time.sleep(PAUSE_S)
        fields = {"scenario": SCENARIO, "num_episodes": EPISODES, "seed": seed, "record": "none"}
        job = self.request("/verify", *form(fields, archive))["job_id"]
        until = time.monotonic() + JOB_LIMIT_S
        while time.monotonic() < until:
            # Polled rarely, because requests take CPU time of the server.
            time.sleep(0.5)
            status = self.request(f"/verify/{job}")["status"]
            if status == "COMPLETED":
                return job
            if status not in ("QUEUED", "RUNNING", "JUDGING"):
                break
        raise SystemExit(f"job {job} did not complete")


def form(fields, archive):
    """Returns body and content type of a multipart form with the policy."""
    boundary = uuid.uuid4().hex
    out = BytesIO()
    for name, value in fields.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
        out.write(f"{head}{value}\r\n".encode())
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="policy"; filename="policy.zip"\r\n'
    out.write(f"{head}Content-Type: application/zip\r\n\r\n".encode() + archive + f"\r\n--{boundary}--\r\n".encode())
    return out.getvalue(), f"multipart/form-data; boundary={boundary}"


def policy_zip(folder):
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.write(folder / "policy.py", "policy.py")
    return out.getvalue()


def timeline(log, job):
    """Returns the milliseconds of a job from its claim to its conclusion, and of the parts of its episodes."""
    at = {m[2]: timestamp(m[1]) for m in map(EVENT.match, log.splitlines()) if m and m[3] == job}
    inside = [e for e in episodes_in(log) if at["claimed"] <= e.ended <= at["concluded"]]
    if len(inside) != EPISODES:
        raise SystemExit(f"{len(inside)} of {EPISODES} episodes of job {job} in the log")
    total = {name: sum(e.cost[f"{name}_ms"] for e in inside) for name in ("physics", "policy", "policy_cpu")}
    return {
        "job": 1e3 * (at["concluded"] - at["claimed"]),
        **total,
        "other work of the lane": sum(
            e.cost[f"{name}_ms"] for e in inside for name in ("world", "signals", "clauses", "hash", "observation")
        ) + sum(e.cost["evidence_cpu_ms"] for e in inside),
        "claim to first episode": 1e3 * (inside[0].ended - at["claimed"]) - spent(inside[0]),
        "last episode to conclusion": 1e3 * (at["concluded"] - inside[-1].ended),
    }


def spent(episode):
    """Returns the wall-clock time in ms from the lane's command to its answer."""
    cost = episode.cost
    parts = ("world", "physics", "signals", "clauses", "hash", "observation", "policy")
    return sum(cost[f"{name}_ms"] for name in parts) + cost["evidence_cpu_ms"]
