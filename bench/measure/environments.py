"""Measures steps of `assay.envs`, against those of gymnasium-robotics, both beyond bare `mj_step`; and importing the
package."""

import json
import subprocess

from . import ceiling
from .common import LIMIT_S, created, environment, result
from .overhead import DECIMATION, bare

STEP_TARGET, VECTOR_TARGET, IMPORT_TARGET = ("<=", 1 / 3), (">=", 1.7), ("<=", 60)
IMPORT = "import time; begun = time.process_time(); import assay; print(1e3 * (time.process_time() - begun))"


def run(bench):
    python = created(
        bench.root / "vendor" / "bench-robotics-venv", bench.root / "requirements" / "bench-robotics.txt"
    )
    steps, pairs, eights, imports, most = [], [], [], [], []
    for _ in range(bench.repetitions):
        fetch = measured(bench, python, "fetch")
        ours = measured(bench, python, "assay")["step_us"]
        physics = bare(bench, "tabletop_reach") * DECIMATION
        steps.append((ours - physics) / (fetch["step_us"] - fetch["physics_us"]))
        rates = measured(bench, python, "vector")
        pairs.append(rates["2"] / rates["1"])
        eights.append(rates["8"] / rates["1"])
        most.append(ceiling.measured(bench))
        imports.append(float(output(bench, [python, "-B", "-c", IMPORT])))
    detail = {
        "assay, a step, us": ours, "of it physics, us": physics,
        "FetchReach, a step, us": fetch["step_us"], "of it physics, us ": fetch["physics_us"],
    }
    return [
        result("environment step beyond mj_step, against FetchReach", steps, STEP_TARGET, "x", detail),
        result("eight environments at a time, against one", eights, VECTOR_TARGET, "x"),
        result("two environments at a time, against one", pairs),
        ceiling.row(most),
        result("import assay, CPU", imports, IMPORT_TARGET, " ms"),
    ]


def measured(bench, python, what):
    return json.loads(output(bench, [python, "-B", bench.root / "bench" / "environment_steps.py", what]))


def output(bench, command):
    # The package of this repository, with the measured programs.
    own = {"PYTHONPATH": str(bench.root / "python"), "ASSAY_PROGRAM": str(bench.assay), "ASSAY_HOME": str(bench.root)}
    done = subprocess.run(
        command, cwd=bench.root, env=environment() | own, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{command[-1]} failed: {done.stderr}")
    return done.stdout
