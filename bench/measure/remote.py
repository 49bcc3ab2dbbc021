"""Measures sixteen concurrent episodes with an asynchronous policy server of 50 ms latency, against one episode."""

import json
import subprocess
from datetime import datetime

from .common import LIMIT_S, environment, result

SCENARIO = "cartpole_keepin"
POLICY = f"examples/policies/{SCENARIO}/reference/policy.py"
EPISODES = 16
DELAY_MS = 50
TARGET = ("<=", 1.5)
# A single episode takes 25 s.
MAX_REPETITIONS = 2


def run(bench):
    command = [bench.python, "-B", bench.root / "bench" / "act_server.py", bench.root / POLICY, str(DELAY_MS)]
    server = subprocess.Popen(command, cwd=bench.root, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        address = f"http://127.0.0.1:{int(server.stdout.readline())}"
        count = min(bench.repetitions, MAX_REPETITIONS)
        pairs = [(took(bench, address, 1), took(bench, address, EPISODES)) for _ in range(count)]
    finally:
        server.terminate()
        server.wait()
    name = f"{EPISODES} episodes with a {DELAY_MS} ms server at the same time, against one"
    row = result(name, [many / one for one, many in pairs], TARGET, "x")
    one, many = min(pairs, key=lambda pair: abs(pair[1] / pair[0] - row["value"]))
    row["detail"] = {"one episode, s": one, f"{EPISODES} episodes, s": many}
    return [row]


def took(bench, address, episodes):
    """Returns the seconds from the first connection to the last result."""
    command = [bench.assay, "verify", address, "--scenario", SCENARIO, "--record", "none", "--json"]
    command += ["--episodes", str(episodes), "--policy-concurrency", str(episodes)]
    done = subprocess.run(
        command, cwd=bench.root, env=environment(), capture_output=True, text=True, timeout=LIMIT_S,
    )
    report = json.loads(done.stdout) if done.stdout else {}
    if report.get("verdict") != "SAFE":
        raise SystemExit(f"assay verify {address} failed: {report.get('error_message')} {done.stderr}")
    began, ended = (datetime.fromisoformat(report[field]) for field in ("started_at", "completed_at"))
    return (ended - began).total_seconds()
