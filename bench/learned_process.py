#!/usr/bin/env python3
"""Runs a trained network beside bare `mj_step` in one Python process: what an episode costs without assay.

    python bench/learned_process.py onnx --packages vendor/runtimes/onnx/py/lib/python3.11/site-packages

Steps the frozen episode of `tabletop_reach` (bench/frozen) with the recorded controls, and runs the model of
`examples/learned/tabletop_reach/onnx` once in each control step, on the same numbers each time. Prints the CPU time of a
control step, and that of the inference in it, as a line of JSON. `--packages` is the folder with ONNX Runtime, that of the
runtime in which policies run.
"""

import argparse
import io
import json
import lzma
import sys
import time
from pathlib import Path

import mujoco
import numpy as np

from frozen_steps import FROZEN, STATE, controls

ROOT = Path(__file__).resolve().parent.parent
SCENARIO, DECIMATION, STEPS = "tabletop_reach", 10, 500
WARMING = 50


def world():
    """Returns the model, its data in the recorded state, and the controls of every physics step."""
    folder = FROZEN / SCENARIO
    model = mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": lzma.decompress((folder / "model.mjb.xz").read_bytes())})
    inputs = dict(np.load(io.BytesIO(lzma.decompress((folder / "inputs.npz.xz").read_bytes()))))
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, np.fromfile(folder / "state.bin"), STATE)
    return model, data, controls(inputs, model, data, STEPS * DECIMATION)


def session():
    """Returns a function that runs the network, with the threads of the adapter: one."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    file = ROOT / "examples" / "learned" / SCENARIO / "onnx" / "model.onnx"
    network = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    (wanted,) = network.get_inputs()
    state = np.random.default_rng(1).normal(size=wanted.shape).astype(np.float32)
    return lambda: network.run(None, {wanted.name: state})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["onnx"])
    parser.add_argument("--packages", required=True, help="folder with the packages of the runtime")
    parser.add_argument("--episodes", type=int, default=5)
    args = parser.parse_args()
    sys.path.append(args.packages)
    infer = session()
    for _ in range(WARMING):
        infer()
    total = inference = 0.0
    for _ in range(args.episodes):
        model, data, control = world()
        begun = time.process_time()
        for step in range(STEPS):
            data.ctrl[:] = control[step * DECIMATION]
            mujoco.mj_step(model, data, DECIMATION)
            before = time.process_time()
            infer()
            inference += time.process_time() - before
        total += time.process_time() - begun
    count = args.episodes * STEPS
    print(json.dumps({"cpu_us_per_control_step": 1e6 * total / count, "inference_us": 1e6 * inference / count}))


if __name__ == "__main__":
    main()
