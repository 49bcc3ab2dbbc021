"""Shared code of the benchmarks: running `assay verify`, reading the cost of episodes from its log, and the table."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

SCENARIO = "tabletop_reach"
POLICY = f"examples/policies/{SCENARIO}/reference"
COST = re.compile(r"^(\S+)Z .* cost of the episode episode=(\d+) asleep_s=\S+ cost=(\{.*\})$")
# The part of the log that contains it.
LOG_COSTS = {"ASSAY_LOG": "info,assay_worker::episode::attempt=debug"}
# Time limit of a program.
LIMIT_S = 600

# The message of a server when it has started: address and port.
LISTENING = re.compile(r"listening on http://(\S+):(\d+)")
# A policy that occupies its lane by sleeping, so that nothing else is evaluated during a measurement.
SLOW = "import time\nimport numpy as np\n\ndef policy(observation):\n    time.sleep(0.1)\n    return np.zeros(1)\n"
# Time limit for the condition in `wait_for`.
START_LIMIT_S = 60


@dataclass
class Bench:
    """Paths, and the number of repetitions."""

    root: Path
    assay: Path
    python: Path
    repetitions: int


@dataclass
class Episode:
    """An episode in the log: its end (s), its cost (ms), and its control steps if known."""

    index: int
    ended: float
    cost: dict
    steps: int = 0


def created(venv, pins, source_pins=None):
    """Returns the Python of an environment; creates it if the pins have changed. `source_pins` has packages without
    wheels."""
    files = [pins] if source_pins is None else [pins, source_pins]
    mark, digest = venv / "pins.sha256", hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    if not mark.is_file() or mark.read_text() != digest:
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        pip = [venv / "bin" / "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*pip, "--only-binary=:all:", "-r", pins], check=True)
        if source_pins is not None:
            subprocess.run([*pip, "--no-build-isolation", "-r", source_pins], check=True)
        mark.write_text(digest)
    return venv / "bin" / "python"


def torch_runtimes(bench):
    """Returns the folder with the runtime that `tools/test-long runtime` builds, `lerobot`; `None` if there is none."""
    target = bench.root / os.environ.get("CARGO_TARGET_DIR", "target")
    folder = Path(os.environ.get("ASSAY_LEROBOT_RUNTIMES", target / "runtimes"))
    return folder if (folder / "lerobot" / "manifest.json").is_file() else None


def on_core(core):
    """Returns a function that pins a child process to one processor; the lane pins itself there anyway."""
    return lambda: os.sched_setaffinity(0, {core})


def timestamp(text):
    return datetime.fromisoformat(text).timestamp()


def episodes_in(log):
    """Returns the episodes in a log that was written with `LOG_COSTS`."""
    found = (COST.match(line) for line in log.splitlines())
    return [Episode(int(m[2]), timestamp(m[1]), json.loads(m[3])) for m in found if m]


def environment():
    """Returns the environment of the measured programs."""
    # One thread for linear algebra, as in the jail; no colours in the log; no settings from the caller's environment.
    own = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MUJOCO_GL": "disable", "NO_COLOR": "1"}
    return {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_")} | own


def wait_for(condition):
    """Waits until the condition returns a truthy value, and returns it."""
    until = time.monotonic() + START_LIMIT_S
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.05)
    raise SystemExit(f"the server did not become ready within {START_LIMIT_S} s")


def verify(bench, episodes, lanes=1, core=None, seed=1, out=None):
    """Runs the reference policy without video, with evidence in `out`; returns its episodes in order of their end."""
    command = [bench.assay, "verify", POLICY, "--scenario", SCENARIO, "--record", "none", "--json"]
    command += ["--episodes", str(episodes), "--lanes", str(lanes), "--seed", str(seed)]
    command += [] if out is None else ["--out", str(out)]
    done = subprocess.run(
        command, cwd=bench.root, env=environment() | LOG_COSTS, capture_output=True, text=True, timeout=LIMIT_S,
        preexec_fn=None if core is None else on_core(core),
    )
    if not done.stdout:
        raise SystemExit(f"assay verify failed: {done.stderr}")
    steps = {episode["episode"]: episode["steps"] for episode in json.loads(done.stdout)["episode_details"]}
    found = episodes_in(done.stderr)
    if len(found) != episodes:
        raise SystemExit(f"{len(found)} of {episodes} episodes in the log: {done.stderr}")
    for episode in found:
        episode.steps = steps[episode.index]
    return found


def result(name, values, target=None, unit="", detail=None):
    """Returns a row: the median of the repetitions; `target` is ("<=" or ">=", number)."""
    value = median(values)
    met = None if target is None else (value <= target[1] if target[0] == "<=" else value >= target[1])
    row = {"name": name, "value": round(value, 4), "unit": unit, "target": target, "met": met}
    return row | {"repetitions": [round(v, 4) for v in values], "detail": detail or {}}


def table(results):
    """Returns the results as a table."""
    rows = [("", "value", "target", "")]
    for row in results:
        target = f"{row['target'][0]} {row['target'][1]:g}{row['unit']}" if row["target"] else ""
        verdict = {None: "", True: "met", False: "MISSED"}[row["met"]]
        rows.append((row["name"], f"{row['value']:.4g}{row['unit']}", target, verdict))
        rows += [(f"    {name}", f"{value:.4g}", "", "") for name, value in row["detail"].items()]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    line = "{:<%d}  {:>%d}  {:>%d}  {}" % tuple(widths[:3])
    return "\n".join(line.format(*row).rstrip() for row in rows)
