"""Measures the compilation of scenarios, and the cost of a camera image in the observation."""

import re

from .common import result
from .stl import call

COMPILED = re.compile(r"^compile (\S+) ([0-9.e-]+) ms$", re.MULTILINE)
COST = re.compile(r"^(image|step) ([0-9.e-]+) ms$", re.MULTILINE)
LIMIT_MS = 250.0
PLAIN = """
import sys, time, mujoco
least = float("inf")
for _ in range(5):
    start = time.perf_counter()
    spec = mujoco.MjSpec.from_file("scenarios/shared_workspace/scene.xml")
    arm = mujoco.MjSpec.from_file("robots/panda/panda.xml")
    spec.site("arm_mount").attach_body(arm.body("link0"), "arm/", "")
    spec.compile()
    least = min(least, time.perf_counter() - start)
print(1e3 * least)
"""


def run(bench):
    slowest, shares, images, detail = [], [], [], {}
    for _ in range(bench.repetitions):
        command = ["cargo", "run", "--profile", "dist", "--quiet", "--locked", "-p", "assay-sim", "--example", "worlds"]
        output = call(bench, command)
        compiled = {name: float(ms) for name, ms in COMPILED.findall(output)}
        cost = {name: float(ms) for name, ms in COST.findall(output)}
        plain = float(call(bench, [bench.python, "-c", PLAIN]))
        slowest.append(max(compiled.values()))
        shares.append(compiled["shared_workspace"] / plain)
        images.append(cost["image"] / cost["step"])
        for name, ms in (compiled | {"an image": cost["image"]}).items():
            detail[f"{name}, ms"] = min(ms, detail.get(f"{name}, ms", ms))
    return [
        result("the slowest scenario to compile", slowest, ("<=", LIMIT_MS), " ms", detail),
        result("  shared_workspace, checked / MuJoCo's Python compiling it", shares, ("<=", 3), "x"),
        result("an image of the observation / a control step", images, None, "x"),
    ]
