"""Measures what two processors of this machine can do at most: two bare `mj_step` loops at once, against one alone.

Processors that are threads of one core share its units, so two are well below twice as fast as one. Ratios of two lanes or of
vectorised environments to one are to be read beside this one.
"""

import json
import subprocess

from .common import LIMIT_S, environment, on_core, result

NAME = "  (this machine: two bare mj_step loops, against one)"
STEPS, REPETITIONS = 5000, 30


def row(ratios):
    return result(NAME, ratios, None, "x")


def measured(bench):
    """Returns the physics steps a second of two loops, each on a processor of its own, against those of one."""
    alone = finished(started(bench, 0))
    pair = [started(bench, core) for core in (0, 1)]
    together = [finished(loop) for loop in pair]
    return sum(alone / one for one in together)


def started(bench, core):
    command = [bench.python, "bench/frozen_steps.py", "tabletop_reach", "--steps", str(STEPS)]
    return subprocess.Popen(
        [*command, "--repetitions", str(REPETITIONS)], cwd=bench.root, env=environment(), stdout=subprocess.PIPE, text=True,
        preexec_fn=on_core(core),
    )


def finished(loop):
    """Returns the wall-clock time of a step in us."""
    output, _ = loop.communicate(timeout=LIMIT_S)
    if loop.returncode != 0:
        raise SystemExit("bench/frozen_steps.py failed")
    return json.loads(output)["wall_us_per_step"]
