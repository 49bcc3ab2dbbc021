"""Measures the renderer of videos against MuJoCo's Python renderer: frames per second of CPU time, of the same frames, size
and visual settings."""

import re
import tempfile

from .common import result
from .stl import call

FRAME = re.compile(r"^frame ([0-9.e-]+) ms$", re.MULTILINE)
# A scenario with an arm and one with a base that is followed.
SCENARIOS = ("tabletop_reach", "warehouse_aisle")
SIZE = (1280, 720)
FRAMES = 40
TARGET = (">=", 0.8)
PROGRAM = ["cargo", "run", "--profile", "dist", "--quiet", "--locked", "-p", "assay-sim", "--example", "pictures", "--"]


def run(bench, program=PROGRAM):
    rows = []
    for scenario in SCENARIOS:
        shares, detail = [], {}
        for _ in range(bench.repetitions):
            with tempfile.TemporaryDirectory(prefix="assay-bench-pictures-") as folder:
                width, height = map(str, SIZE)
                output = call(bench, [*program, scenario, width, height, str(FRAMES), folder])
                ours = float(FRAME.search(output)[1])
                output = call(bench, [bench.python, "bench/plain_pictures.py", folder, width, height])
                plain = float(FRAME.search(output)[1])
            shares.append(plain / ours)
            for name, ms in (("assay, ms", ours), ("MuJoCo's Python renderer, ms", plain)):
                detail[name] = min(ms, detail.get(name, ms))
        rows.append(result(f"frames per CPU second of {scenario} / MuJoCo's Python renderer", shares, TARGET, "x", detail))
    return rows
