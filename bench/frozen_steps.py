#!/usr/bin/env python3
"""Steps a recorded episode with bare `mj_step`, in MuJoCo's own loop in C (`mujoco.rollout`, one thread).

    python bench/frozen_steps.py tabletop_reach [--repetitions 40]

Prints the CPU time and the wall-clock time of one physics step as a line of JSON. The recordings in bench/frozen are evidence of `assay verify` with
the policy `idle` and seed 1: the compiled model, the state before the first step, and every input (docs/evidence.md). They
never change, so that a change of our scenarios or of our code does not change what it is compared with.
"""

import argparse
import io
import json
import lzma
import time
from pathlib import Path

import mujoco
import numpy as np
from mujoco import rollout

FROZEN = Path(__file__).resolve().parent / "frozen"
STATE, INPUTS = mujoco.mjtState.mjSTATE_INTEGRATION, mujoco.mjtState.mjSTATE_CTRL


def controls(inputs, model, data, steps):
    """Returns the controls of every step: [steps, nu]."""
    unknown = [name for name in inputs if not name.startswith("ctrl")]
    if unknown:
        raise SystemExit(f"the recording has inputs besides controls: {', '.join(unknown)}")
    dense = np.tile(data.ctrl, (steps, 1))
    for row, (step, values) in enumerate(zip(inputs["ctrl_step"], inputs["ctrl"], strict=True)):
        until = inputs["ctrl_step"][row + 1] if row + 1 < len(inputs["ctrl_step"]) else steps
        dense[step:until, inputs["ctrl_index"]] = values
    return dense


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", choices=sorted(path.name for path in FROZEN.iterdir()))
    parser.add_argument("--steps", type=int, required=True, help="physics steps of the episode")
    parser.add_argument("--repetitions", type=int, default=40)
    args = parser.parse_args()
    folder = FROZEN / args.scenario
    model = mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": lzma.decompress((folder / "model.mjb.xz").read_bytes())})
    inputs = dict(np.load(io.BytesIO(lzma.decompress((folder / "inputs.npz.xz").read_bytes()))))
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, np.fromfile(folder / "state.bin"), STATE)
    control = controls(inputs, model, data, args.steps)[None]
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    initial = np.empty(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, data, initial, full)
    times = []
    wall_begun = time.perf_counter()
    for _ in range(args.repetitions):
        begun = time.process_time()
        rollout.rollout(model, data, initial[None], control, control_spec=INPUTS, skip_checks=False)
        times.append(time.process_time() - begun)
    wall = (time.perf_counter() - wall_begun) / args.repetitions
    cpu = float(np.mean(times))
    print(json.dumps({
        "cpu_us_per_step": 1e6 * cpu / args.steps, "wall_us_per_step": 1e6 * wall / args.steps, "steps": args.steps,
    }))


if __name__ == "__main__":
    main()
