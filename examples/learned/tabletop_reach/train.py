"""Trains a network to imitate demonstrations of `tabletop_reach`, and writes it for numpy, PyTorch and ONNX.

    pip install numpy onnx
    python3 examples/learned/tabletop_reach/record.py one.npz --episodes 200
    python3 examples/learned/tabletop_reach/train.py one.npz
    python3 examples/learned/tabletop_reach/record.py two.npz --episodes 200 --seed 2 \
        --policy examples/learned/tabletop_reach/numpy/weights.npz
    python3 examples/learned/tabletop_reach/train.py one.npz two.npz

Takes a few minutes. The network is a multilayer perceptron: the 29 numbers of STATE in record.py, normalised, then
hidden layers with tanh, then the 7 numbers of an action, normalised. `numpy/weights.npz`, `torch/weights.npz`
and `onnx/model.onnx` get the same weights, `onnx/statistics.npz` the normalisation. The folder `onnx` has no code: its
policy.toml declares what the network sees and returns.
"""

import argparse
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
HIDDEN = (192, 192)
BATCH, ROUNDS, LEARNING_RATE = 512, 30_000, 2e-3
# Demonstrations near the target count more: the tool must stop within 20 mm of it. Distances in m.
NEAR, NEAR_WEIGHT = 0.1, 4.0
TOOL, TARGET = slice(1, 4), slice(8, 11)


class Network:
    """Weights of the layers, and mean and standard deviation of state and action."""

    def __init__(self, layers, state, action):
        self.layers, self.state, self.action = layers, state, action

    @classmethod
    def load(cls, path):
        with np.load(path) as file:
            count = sum(name.startswith("w") for name in file.files)
            layers = [(file[f"w{index}"], file[f"b{index}"]) for index in range(count)]
            return cls(layers, (file["state_mean"], file["state_std"]), (file["action_mean"], file["action_std"]))

    def save(self, path):
        arrays = {f"{kind}{index}": part for index, layer in enumerate(self.layers) for kind, part in zip("wb", layer)}
        for name, (mean, std) in (("state", self.state), ("action", self.action)):
            arrays |= {f"{name}_mean": mean, f"{name}_std": std}
        np.savez(path, **arrays)

    def outputs(self, inputs):
        """All layers' outputs, the normalised input first."""
        outputs = [inputs]
        for index, (matrix, bias) in enumerate(self.layers):
            value = outputs[-1] @ matrix + bias
            outputs.append(np.tanh(value) if index < len(self.layers) - 1 else value)
        return outputs

    def act(self, state):
        value = self.outputs(((state - self.state[0]) / self.state[1]).astype(np.float32))[-1]
        return value * self.action[1] + self.action[0]


def statistics(values, least):
    """Mean and standard deviation in double precision; what hardly varies is not amplified."""
    mean, std = values.mean(axis=0, dtype=float), values.std(axis=0, dtype=float)
    return mean, np.where(std < least, 1.0, std)


def train(states, actions, random):
    """Fits the network by Adam on the squared error."""
    state, action = statistics(states, 1e-3), statistics(actions, 1e-3)
    inputs = ((states - state[0]) / state[1]).astype(np.float32)
    wanted = ((actions - action[0]) / action[1]).astype(np.float32)
    distance = np.linalg.norm(states[:, TOOL] - states[:, TARGET], axis=1)
    weight = np.where(distance < NEAR, NEAR_WEIGHT, 1.0).astype(np.float32)[:, None]
    sizes = (states.shape[1], *HIDDEN, actions.shape[1])
    layer = lambda a, b: (random.normal(0, a**-0.5, (a, b)).astype(np.float32), np.zeros(b, np.float32))  # noqa: E731
    network = Network([layer(a, b) for a, b in zip(sizes, sizes[1:])], state, action)
    first = [[np.zeros_like(part) for part in layer] for layer in network.layers]
    second = [[np.zeros_like(part) for part in layer] for layer in network.layers]
    for step in range(1, ROUNDS + 1):
        chosen = random.integers(0, len(inputs), BATCH)
        outputs = network.outputs(inputs[chosen])
        slope = 2 * weight[chosen] * (outputs[-1] - wanted[chosen]) / BATCH
        rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * step / ROUNDS))
        for index in reversed(range(len(network.layers))):
            matrix, _ = network.layers[index]
            gradients = (outputs[index].T @ slope, slope.sum(axis=0))
            if index:
                slope = (slope @ matrix.T) * (1 - outputs[index] ** 2)
            for part, gradient in enumerate(gradients):
                mean, spread = first[index][part], second[index][part]
                mean += 0.1 * (gradient - mean)
                spread += 0.001 * (gradient**2 - spread)
                scaled = np.sqrt(spread / (1 - 0.999**step)) + 1e-8
                network.layers[index][part][...] -= np.float32(rate / (1 - 0.9**step)) * mean / scaled
        if step % 5000 == 0:
            error = np.abs((network.outputs(inputs[:20_000])[-1] - wanted[:20_000]) * action[1]).mean(axis=0)
            print(f"{step}: mean error of {np.round(error, 4)}", flush=True)
    return network


def write_onnx(network, path):
    """Writes the layers as ONNX: input `state` (1, 29), output `action` (1, 7), both float32 and normalised."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants, name = [], [], "state"
    for index, (matrix, bias) in enumerate(network.layers):
        is_last = index == len(network.layers) - 1
        constants += [numpy_helper.from_array(matrix, f"w{index}"), numpy_helper.from_array(bias, f"b{index}")]
        output = "action" if is_last else f"sum{index}"
        nodes.append(helper.make_node("Gemm", [name, f"w{index}", f"b{index}"], [output]))
        if not is_last:
            name = f"hidden{index}"
            nodes.append(helper.make_node("Tanh", [output], [name]))
    inputs, outputs = len(network.state[0]), len(network.action[0])
    graph = helper.make_graph(
        nodes,
        "tabletop_reach",
        [helper.make_tensor_value_info("state", TensorProto.FLOAT, [1, inputs])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, [1, outputs])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def main():
    parser = argparse.ArgumentParser(description="Trains a network on demonstrations of tabletop_reach.")
    parser.add_argument("demonstrations", type=pathlib.Path, nargs="+")
    files = [np.load(path) for path in parser.parse_args().demonstrations]
    states, actions = (np.concatenate([file[name] for file in files]) for name in ("states", "actions"))
    network = train(states, actions, np.random.default_rng(0))
    for form in ("numpy", "torch"):
        network.save(HERE / form / "weights.npz")
    write_onnx(network, HERE / "onnx" / "model.onnx")
    numbers = {"state_mean": network.state[0], "state_std": network.state[1]}
    numbers |= {"action_mean": network.action[0], "action_std": network.action[1]}
    np.savez(HERE / "onnx" / "statistics.npz", **numbers)


if __name__ == "__main__":
    main()
