"""Measures a server with a thousand idle workers: its processor time against that of as many that poll every second,
and its memory. The workers are the real client in one process (`crates/assay-worker/src/remote_server/swarm.rs`), the
records in PostgreSQL."""

import json
import os
import subprocess

from .common import result

WORKERS = 1000
LIMIT_S = 3600
MARK = "swarm {"


def run(bench):
    test = ["cargo", "test", "--workspace", "--locked", "--lib", "--", "--nocapture", "--exact"]
    test.append("remote_server::swarm::a_swarm_of_workers_is_served_and_costs_little_while_idle")
    variables = {"ASSAY_SWARM": str(WORKERS), "ASSAY_SWARM_SERVER": str(bench.assay)}
    done = subprocess.run(
        test, cwd=bench.root, env=os.environ | variables, capture_output=True, text=True, timeout=LIMIT_S
    )
    line = next((line for line in done.stderr.splitlines() if line.startswith(MARK)), None)
    if line is None:
        raise SystemExit(f"the swarm failed: {done.stdout}{done.stderr}")
    found = json.loads(line.removeprefix("swarm "))
    share = result(f"{WORKERS} idle workers, against as many pollers", [found["idle"] / found["polled"]], ("<=", 0.05), "x")
    share["detail"] = {f"{name}, processors": found[name] for name in ("polled", "idle")}
    return [share, result("memory of an idle worker", [found["kib"]], ("<=", 64), "KiB")]
