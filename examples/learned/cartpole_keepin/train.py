"""Trains a small network to imitate the reference policy of `cartpole_keepin`, and writes it for numpy and for ONNX.

    pip install numpy onnx
    python3 examples/learned/cartpole_keepin/train.py

Takes about 20 s. The network is a multilayer perceptron: 4 inputs (position, angle, speed, rate), two hidden layers of
32 units with tanh, 1 output (the force). The same weights go to `numpy/weights.npz` and `onnx/model.onnx`.
"""

import importlib.util
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE = HERE.parents[1] / "policies" / "cartpole_keepin" / "reference" / "policy.py"
SIZES = (4, 32, 32, 1)
# Ranges of the states that a balancing policy meets, with a margin: m, rad, m/s, rad/s.
RANGE = np.array([1.0, 0.35, 1.5, 1.5])
SAMPLES, BATCH, ROUNDS = 60_000, 256, 12_000
LEARNING_RATE = 2e-3


def teacher():
    """The reference policy as a function of many states."""
    spec = importlib.util.spec_from_file_location("reference", REFERENCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    policy = module.Policy()
    return lambda state: policy.act({"joint_position": state[:2], "joint_velocity": state[2:]})


def forward(weights, states):
    """All layers' outputs, the input first."""
    outputs = [states]
    for index, (matrix, bias) in enumerate(weights):
        value = outputs[-1] @ matrix + bias
        outputs.append(np.tanh(value) if index < len(weights) - 1 else value)
    return outputs


def train(random):
    """Fits the network by Adam on the squared error, scaled by the largest force."""
    act = teacher()
    # Half of the samples are near the upright, where a balancing policy spends its time.
    scale = np.where(random.random((SAMPLES, 1)) < 0.5, 0.2, 1.0)
    states = random.uniform(-1, 1, (SAMPLES, 4)) * RANGE * scale
    forces = np.array([act(state) for state in states]) / 12.0
    inputs = states / RANGE
    weights = [(random.normal(0, 1 / np.sqrt(a), (a, b)), np.zeros(b)) for a, b in zip(SIZES, SIZES[1:])]
    first = [[np.zeros_like(part) for part in layer] for layer in weights]
    second = [[np.zeros_like(part) for part in layer] for layer in weights]
    for step in range(1, ROUNDS + 1):
        chosen = random.integers(0, SAMPLES, BATCH)
        outputs = forward(weights, inputs[chosen])
        slope = 2 * (outputs[-1] - forces[chosen]) / BATCH
        rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * step / ROUNDS))
        for layer in reversed(range(len(weights))):
            matrix, _ = weights[layer]
            gradients = (outputs[layer].T @ slope, slope.sum(axis=0))
            if layer:
                slope = (slope @ matrix.T) * (1 - outputs[layer] ** 2)
            updated = []
            for part, gradient in enumerate(gradients):
                first[layer][part] = 0.9 * first[layer][part] + 0.1 * gradient
                second[layer][part] = 0.999 * second[layer][part] + 0.001 * gradient**2
                mean, spread = first[layer][part] / (1 - 0.9**step), second[layer][part] / (1 - 0.999**step)
                updated.append(weights[layer][part] - rate * mean / (np.sqrt(spread) + 1e-8))
            weights[layer] = tuple(updated)
    error = np.abs(forward(weights, inputs)[-1] - forces).mean() * 12
    print(f"mean error of the force: {error:.3f} N")
    # Input in SI units, output in N.
    (matrix, bias), (last, last_bias) = weights[0], weights[-1]
    weights[0], weights[-1] = (matrix / RANGE[:, None], bias), (last * 12, last_bias * 12)
    return [(matrix.astype(np.float32), bias.astype(np.float32)) for matrix, bias in weights]


def write_onnx(weights, path):
    """Writes the network as ONNX: input `state` (1, 4), output `force` (1, 1), both float32."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants, name = [], [], "state"
    for index, (matrix, bias) in enumerate(weights):
        is_last = index == len(weights) - 1
        constants += [numpy_helper.from_array(matrix, f"w{index}"), numpy_helper.from_array(bias, f"b{index}")]
        output = "force" if is_last else f"sum{index}"
        nodes.append(helper.make_node("Gemm", [name, f"w{index}", f"b{index}"], [output]))
        if not is_last:
            nodes.append(helper.make_node("Tanh", [output], [f"hidden{index}"]))
            name = f"hidden{index}"
    graph = helper.make_graph(
        nodes,
        "cartpole_keepin",
        [helper.make_tensor_value_info("state", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("force", TensorProto.FLOAT, [1, 1])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def main():
    weights = train(np.random.default_rng(0))
    arrays = {f"{kind}{index}": part for index, layer in enumerate(weights) for kind, part in zip("wb", layer)}
    np.savez(HERE / "numpy" / "weights.npz", **arrays)
    write_onnx(weights, HERE / "onnx" / "model.onnx")


main()
