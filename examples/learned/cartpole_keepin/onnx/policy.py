"""The same trained network as in the folder `numpy`, run by ONNX Runtime.

The comment below (PEP 723) says what the policy needs: assay runs it in a runtime that has these packages.
"""
# /// script
# requires-python = ">=3.11"
# dependencies = ["onnxruntime>=1.20", "numpy"]
# [tool.assay]
# runtime = "onnx"
# ///

import pathlib

import numpy as np
import onnxruntime

FORCE_N = 12.0
OPTIONS = onnxruntime.SessionOptions()
# A policy has one processor; more threads would only wait for each other.
OPTIONS.intra_op_num_threads = 1
OPTIONS.inter_op_num_threads = 1
# A relative path would be looked up in the current folder, which is not the policy's.
MODEL = pathlib.Path(__file__).with_name("model.onnx")
SESSION = onnxruntime.InferenceSession(str(MODEL), OPTIONS, providers=["CPUExecutionProvider"])


def policy(observation):
    """Force on the cart."""
    state = np.concatenate([observation["joint_position"], observation["joint_velocity"]]).astype(np.float32)
    (force,) = SESSION.run(["force"], {"state": state[None, :]})
    return np.clip(force[0].astype(float), -FORCE_N, FORCE_N)
