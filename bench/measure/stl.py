"""Measures temporal logic: offline against rtamt and hand-written scipy filters, streaming against the physics step."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

from .common import LIMIT_S, environment, result

SAMPLES = 5000
# Three times the length, or fifty times the window, should cost the same per sample.
LONGER, SHORT_S, LONG_S = 3, 0.1, 5.0
NEAR = 1e-9
MONITORS = re.compile(r"^physics ([0-9.]+) ns, \d+ monitors ([0-9.]+) ns a step$", re.MULTILINE)


def run(bench):
    against_rtamt, against_scipy, slower, wider, own = [], [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        traces = [Path(folder) / f"{n}.csv" for n in (SAMPLES, LONGER * SAMPLES)]
        for repetition in range(bench.repetitions):
            known = python(bench, traces, repetition)
            texts = list(known)
            found = rust(bench, traces[0], texts)
            for text in texts:
                if abs(found[text][0] - known[text]["robustness"]) > NEAR or not known[text]["agree"]:
                    raise SystemExit(f"{text}: {found[text][0]} here, {known[text]} elsewhere")
            # The least favourable formula counts.
            against_rtamt.append(min(known[t]["rtamt_us"] / found[t][1] for t in texts))
            against_scipy.append(min(known[t]["scipy_us"] / found[t][1] for t in texts))
            longer = rust(bench, traces[1], texts)
            slower.append(max(longer[t][1] / found[t][1] / LONGER for t in texts))
            windows = [f"always (x > 1 implies eventually[0:{s}] (y < 0))" for s in (SHORT_S, LONG_S)]
            both = rust(bench, traces[1], windows)
            wider.append(both[windows[1]][1] / both[windows[0]][1])
            own.append({t: found[t][1] for t in texts})
    detail = {f"{text}, us": min(one[text] for one in own) for text in own[0]}
    shares = [monitors(bench) for _ in range(bench.repetitions)]
    return [
        result("rtamt 0.4.10, discrete / offline, 5,000 samples", against_rtamt, (">=", 500), "x", detail),
        result("  hand-written scipy filters / offline", against_scipy, (">=", 1), "x"),
        result("  a sample of 15,000 / a sample of 5,000", slower, ("<=", 1.3), "x"),
        result("  window of 5 s / window of 0.1 s", wider, ("<=", 1.3), "x"),
        result("8 streaming monitors / physics step", shares, ("<=", 0.03)),
    ]


def python(bench, traces, seed):
    """Writes the traces, times rtamt and scipy on the first one, and returns the results by formula."""
    command = [bench.python, "bench/stl_python.py", "--seed", str(seed)]
    for path in traces:
        command += ["--trace", f"{path}:{path.stem}"]
    return json.loads(call(bench, command))


def rust(bench, trace, formulas):
    """Returns robustness and microseconds by formula."""
    command = ["cargo", "run", "--profile", "dist", "--quiet", "--locked", "-p", "assay-stl", "--example", "offline", "--"]
    lines = call(bench, [*command, trace, *formulas]).splitlines()
    return {text: tuple(map(float, line.split())) for text, line in zip(formulas, lines, strict=True)}


def monitors(bench):
    command = ["cargo", "run", "--profile", "dist", "--quiet", "--locked", "-p", "assay-sim", "--example", "monitors"]
    found = MONITORS.search(call(bench, command))
    return float(found[2]) / float(found[1])


def call(bench, command):
    done = subprocess.run(
        command, cwd=bench.root, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {done.stderr}")
    return done.stdout
