"""Measures the CPU time of a control step: lane and jailed policy against the bare loop in one Python process."""

import json
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from .common import LIMIT_S, SCENARIO, environment, on_core, result, verify

EPISODES = 12
# Maximum CPU time per control step, as a multiple of the bare loop's.
TARGET = ("<=", 1.15)
CORE = 0


def run(bench):
    ratios, with_evidence, own, bare_all, bare_parts = [], [], [], [], []
    for _ in range(bench.repetitions):
        # Alternating, so that other load on the machine affects both.
        with tempfile.TemporaryDirectory() as folder:
            episodes = verify(bench, EPISODES, core=CORE, out=Path(folder) / "out")
        steps = round(sum(e.steps for e in episodes) / EPISODES)
        bare = bare_loop(bench, steps)
        bare_parts.append(bare_loop(bench, steps, "--parts")["parts_us"])
        medians = per_step(episodes)
        bare_all.append(bare["cpu_us_per_control_step"])
        own.append(medians)
        ratios.append((medians["lane_cpu_ms"] + medians["policy_cpu_ms"]) / bare_all[-1])
        with_evidence.append(ratios[-1] + medians["evidence_cpu_ms"] / bare_all[-1])
    parts = {name: median(rep[name] for rep in own) for name in own[0]}
    bare = {name: median(rep[name] for rep in bare_parts) for name in bare_parts[0]}
    least = bare["physics"] + bare["policy"]
    total = parts["lane_cpu_ms"] + parts["policy_cpu_ms"]
    return [
        result("rollout, CPU per control step / bare loop", ratios, TARGET, "x", split(parts)),
        result("  with evidence written", with_evidence, None, "x"),
        result("  bare loop, us", bare_all, None, "", {f"{k}, us": v for k, v in bare.items()}),
        result("  / bare physics and policy alone", [total / least], None, "x"),
    ]


def bare_loop(bench, control_steps, *more):
    command = [bench.python, "bench/bare_loop.py", "--scenario", SCENARIO, "--episodes", str(EPISODES)]
    command += ["--control-steps", str(control_steps), *more]
    done = subprocess.run(
        command, cwd=bench.root, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=True,
        preexec_fn=on_core(CORE),
    )
    return json.loads(done.stdout)


def per_step(episodes):
    """Returns medians over the episodes, in us per control step. The first one, with cold caches, is excluded."""
    rest = episodes[1:]
    return {name: median(1e3 * e.cost[name] / e.steps for e in rest) for name in rest[0].cost}


def split(parts):
    """Returns the CPU time of a control step by part."""
    own = ("physics", "signals", "clauses", "hash", "observation", "world")
    rows = {f"lane: {name}, us": parts[f"{name}_ms"] for name in own}
    rows["lane: socket and the rest, us"] = parts["lane_cpu_ms"] - sum(rows.values())
    rows["policy and runner, us"] = parts["policy_cpu_ms"]
    rows["(evidence, us)"] = parts["evidence_cpu_ms"]
    return rows
