"""Measures the time from the assignment of a policy to a warm interpreter until its first action, and the CPU time of a
start in each runtime, from the request to the exit."""

import json
import re
import subprocess
from statistics import median

from .common import LIMIT_S, environment, result, torch_runtimes, verify

EPISODES = 8
TARGET = ("<=", 5.0)
# Milliseconds of CPU; runtimes that are not listed have those of their neighbours in kind, PyTorch.
CPU_TARGETS, OTHER_TARGET = {"base": ("<=", 15), "onnx": ("<=", 15)}, ("<=", 25)
TAKE = re.compile(r"^(first take, cold|take from a warm pool).*?([0-9.]+) ms", re.MULTILINE)


def run(bench):
    # The example `latency` takes members of the pool with pauses, so that each is warm. The time from there to the
    # first action, which includes building the world and the policy's reset, is in the lane's cost.
    printed = example(bench, "latency", bench.root / "vendor" / "runtimes")
    takes = {m[1]: float(m[2]) for m in TAKE.finditer(printed)}
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
    return [row, *starts(bench)]


def starts(bench):
    """Returns a row for each runtime: those of the repository, and one with PyTorch if `tools/test-long runtime` made it."""
    folders = [bench.root / "vendor" / "runtimes", *filter(None, [torch_runtimes(bench)])]
    runs = [[json.loads(line) for line in example(bench, "starts", *folders).splitlines()] for _ in range(bench.repetitions)]
    rows = []
    for found in zip(*runs):
        all_runs = [one["start"] for one in found]
        name, why = all_runs[0]["runtime"], found[0]["not_forked_because"]
        if why is not None:
            print(f"policies in {name} are not forked here: {why}")
        values = [one["executed_ms" if why else "forked_ms"] for one in all_runs]
        target = CPU_TARGETS.get(name, OTHER_TARGET)
        row = result(f"CPU of a start, request to exit, {name}", values, target, " ms")
        row["detail"] = {
            "as an interpreter of its own, ms": median(one["executed_ms"] for one in all_runs),
            "the first one with its fork server, once a job, ms": median(one["once_ms"] for one in all_runs),
        }
        rows.append(row)
    return rows


def example(bench, name, *arguments):
    """Returns the output of an example program of assay-policy."""
    command = ["cargo", "run", "--profile", "dist", "--quiet", "--locked", "-p", "assay-policy", "--example", name, "--"]
    done = subprocess.run(
        [*command, *arguments], cwd=bench.root, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=True,
    )
    return done.stdout
