"""Measures the time from the assignment of a policy to a warm interpreter until its first action."""

import re
import subprocess

from .common import LIMIT_S, environment, result, verify

EPISODES = 8
TARGET = ("<=", 5.0)
TAKE = re.compile(r"^(first take, cold|take from a warm pool).*?([0-9.]+) ms", re.MULTILINE)


def run(bench):
    # The example `latency` takes members of the pool with pauses, so that each is warm. The time from there to the
    # first action, which includes building the world and the policy's reset, is in the lane's cost.
    command = ["cargo", "run", "--profile", "dist", "--quiet", "--locked", "-p", "assay-policy", "--example", "latency"]
    done = subprocess.run(
        [*command, "--", bench.root / "vendor" / "runtimes"],
        cwd=bench.root, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=True,
    )
    takes = {m[1]: float(m[2]) for m in TAKE.finditer(done.stdout)}
    firsts = []
    for repetition in range(bench.repetitions):
        episodes = verify(bench, EPISODES, seed=repetition)
        firsts += [episode.cost["first_action_ms"] for episode in episodes]
    taken = takes["take from a warm pool"]
    row = result("assignment to first action, median", [taken + first for first in firsts], TARGET, " ms")
    row["detail"] = {
        "assignment to loaded, ms": taken,
        "lane's command to first action, ms": row["value"] - taken,
        "(a cold start, ms)": takes["first take, cold"],
    }
    return [row]
