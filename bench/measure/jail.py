"""Measures the overhead of the jail per step, and of refilling the pool during an episode, in wall-clock time."""

import json
import subprocess
from statistics import median

from .common import LIMIT_S, environment, result

TARGETS = {"floats": ("64 floats", ("<=", 1.5)), "image": ("64 floats and an image of 224x224x3", ("<=", 2.0))}
REFILLS = [
    ("refill_beside", "on another processor", ("<=", 1.05)),
    # Has no target, because the CPU time of the starting interpreter is necessarily taken from the episode.
    ("refill_on_same", "on the same processor", None),
]


def measure(bench):
    command = ["cargo", "run", "--profile", "dist", "--quiet", "--locked", "-p", "assay-policy", "--example", "round_trip"]
    done = subprocess.run(
        [*command, "--", bench.root / "vendor" / "runtimes"],
        cwd=bench.root, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=True,
    )
    return json.loads(done.stdout)


def run(bench):
    runs = [measure(bench) for _ in range(bench.repetitions)]
    rows = []
    for name, (words, target) in TARGETS.items():
        pairs = [(median(run[name]["jailed_us"]), median(run[name]["bare_us"])) for run in runs]
        row = result(f"jail: round trip of {words}", [jailed / bare for jailed, bare in pairs], target, "x")
        row["detail"] = {
            "jailed, us": median(jailed for jailed, _ in pairs),
            "bare pipe, no jail, us": median(bare for _, bare in pairs),
        }
        rows.append(row)
    for name, words, target in REFILLS:
        ratios = [median(run[name]["beside_ms"]) / median(run[name]["alone_ms"]) for run in runs]
        row = result(f"jail: an episode while the pool refills {words}", ratios, target, "x")
        row["detail"] = {
            "an episode alone, ms": median(median(run[name]["alone_ms"]) for run in runs),
            "beside an interpreter that starts, ms": median(median(run[name]["beside_ms"]) for run in runs),
        }
        rows.append(row)
    return rows
