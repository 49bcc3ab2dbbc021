"""A network for {{id}}, run by ONNX Runtime: {{name}}.

{{description}}

The network is model.onnx beside this file; export.py writes one. It has one input of shape (1, {{state_dim}}), which is
the arrays of STATE in their order, and one output of shape (1, {{dim}}), which is the action; both are float32.
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

# A relative path would be looked up in the current folder, which is not the policy's.
MODEL = pathlib.Path(__file__).with_name("model.onnx")
# What the network sees, in this order. The scenario offers:
# {{observations}}
STATE = {{state}}


def load():
    """Returns the session of the network, its input, and the name of its output."""
    if not MODEL.is_file():
        raise FileNotFoundError(
            "model.onnx is missing beside policy.py: write it with export.py on your own machine (see README.md)"
        )
    options = onnxruntime.SessionOptions()
    # A policy has one processor; more threads would only wait for each other.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(MODEL), options, providers=["CPUExecutionProvider"])
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if len(inputs) != 1 or len(outputs) != 1:
        names = " and ".join(str([value.name for value in values]) for values in (inputs, outputs))
        raise ValueError(f"model.onnx must have one input and one output, but it has {names}: adapt load() and act()")
    return session, inputs[0], outputs[0].name


SESSION, INPUT, OUTPUT = load()


class Policy:
    def act(self, observation):
        """Called {{hz}} times per simulated second; returns {{numbers}}."""
        # {{actions}}
        state = np.concatenate([np.ravel(observation[name]) for name in STATE]).astype(np.float32)
        # An axis of any length has a name instead of a number.
        expected = INPUT.shape[-1]
        if isinstance(expected, int) and expected != len(state):
            raise ValueError(f"model.onnx takes {expected} numbers, but the arrays of STATE have {len(state)}")
        (action,) = SESSION.run([OUTPUT], {INPUT.name: state[None, :]})
        return np.ravel(action).astype(float)
