"""Measures the time from submission to verdict of a job of four violating episodes with the default record, relative to
the same job with record=none: the verdict must not wait for videos, not even for those of earlier jobs, which are
rendered meanwhile. Measured on an idle machine, and beside busy sessions."""

import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from .common import SCENARIO, environment, result, timestamp
from .job import Client, form, policy_zip

EPISODES = 4
POLICY = f"examples/policies/{SCENARIO}/reckless"
SEED = 0
JOBS = 5
BUSY = 8
TARGET = ("<=", 1.5)
JOB_LIMIT_S = 600
# Pause after a job, in which pool and lane become warm again.
PAUSE_S = 1.5


def run(bench):
    return [measured(bench, "idle", 0), measured(bench, f"beside {BUSY} busy sessions", BUSY)]


def measured(bench, where, sessions):
    with tempfile.TemporaryDirectory() as folder, serving(bench, Path(folder)) as client, busy(sessions):
        archive = policy_zip(bench.root / POLICY)
        # The first one is for warming up.
        plain = [verdict_s(client, archive, {"record": "none"}) for _ in range(JOBS + 1)][1:]
        recorded = [verdict_s(client, archive, {}) for _ in range(JOBS)]
    detail = {"record=none, s": median(plain), "default record, s": median(recorded)}
    ratios = [after / before for before, after in zip(plain, recorded)]
    return result(f"submit to verdict, {EPISODES} violating episodes, filmed by not, {where}", ratios, TARGET, "", detail)


@contextmanager
def serving(bench, folder):
    """Starts a separate server and yields a client of it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % probe.getsockname()[1]
    command = [bench.assay, "serve", "--listen", address, "--data", folder / "data", "--lanes", "2"]
    # Polling exceeds the default rate limit of a key.
    command += ["--set", "limits.rate.verify_per_minute=1000000", "--set", "limits.rate.get_per_minute=1000000"]
    with open(folder / "log", "wb") as file:
        server = subprocess.Popen(command, cwd=bench.root, env=environment(), stderr=file)
    try:
        yield Client(f"http://{address}", folder / "data" / "bootstrap-key")
    finally:
        server.terminate()
        server.wait()


@contextmanager
def busy(count):
    """Runs `count` sessions, each of which keeps a processor busy."""
    endless = [sys.executable, "-c", "while True: pass"]
    # One session each, because the scheduler may group the processes of a session (autogroup).
    processes = [subprocess.Popen(endless, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def verdict_s(client, archive, more):
    """Returns the seconds from a job's acceptance to its verdict, by the server's clock."""
    time.sleep(PAUSE_S)
    fields = {"scenario": SCENARIO, "num_episodes": EPISODES, "seed": SEED} | more
    job = client.request("/verify", *form(fields, archive))["job_id"]
    until = time.monotonic() + JOB_LIMIT_S
    while time.monotonic() < until:
        time.sleep(0.2)
        found = client.request(f"/verify/{job}")
        if found["status"] == "COMPLETED":
            if found["statistics"]["violations"] != EPISODES:
                raise SystemExit(f"{found['statistics']['violations']} of {EPISODES} episodes were violated")
            return timestamp(found["completed_at"]) - timestamp(found["created_at"])
        if found["status"] not in ("QUEUED", "RUNNING", "JUDGING"):
            break
    raise SystemExit(f"job {job} did not complete")
