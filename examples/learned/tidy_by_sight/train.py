"""Trains a network that sees images to imitate demonstrations of `tidy_by_sight`, and writes it as ONNX.

    pip install numpy onnx pillow pyarrow torch
    assay dataset examples/policies/tidy_by_sight/reference --scenario tidy_by_sight --episodes 8 --seed 5 \
        --format parquet --only-success -o tidy
    python3 examples/learned/tidy_by_sight/train.py tidy
    assay verify examples/learned/tidy_by_sight/onnx --scenario tidy_by_sight

Takes a minute, far too little for the task: it shows how a policy that sees images is declared without code. The network
takes the image from above, averaged to 56 x 56 pixels, through three convolutions, and with them the numbers of STATE
through two layers, and returns an action, normalised. `onnx/policy.toml` declares the same.
"""

import argparse
import io
import pathlib

import numpy as np
import pyarrow.parquet as parquet
import torch
from PIL import Image
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
IMAGE = "images/overhead"
# The numbers that the network gets, in this order; the first is the time in s.
STATE = ["joint_position", "gripper_width", "tcp_position", "tcp_orientation", "tcp_velocity", "bin_position"]
SIDE, POOLED = 224, 56
CHANNELS, FEATURES, HIDDEN = (3, 16, 32, 32), 64, 256
BATCH, LEARNING_RATE = 128, 1e-3


class Network(nn.Module):
    """Convolutions of stride 2, and layers on what they found and the state."""

    def __init__(self, numbers, actions):
        super().__init__()
        pairs = zip(CHANNELS, CHANNELS[1:])
        self.convolutions = nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in pairs)
        side = POOLED // 2 ** len(self.convolutions)
        sizes = (CHANNELS[-1] * side * side, FEATURES)
        self.features = nn.Linear(*sizes)
        self.layers = nn.ModuleList([nn.Linear(FEATURES + numbers, HIDDEN), nn.Linear(HIDDEN, HIDDEN)])
        self.action = nn.Linear(HIDDEN, actions)

    def forward(self, image, state):
        for convolution in self.convolutions:
            image = torch.relu(convolution(image))
        found = torch.relu(self.features(image.flatten(1)))
        value = torch.cat([found, state], 1)
        for layer in self.layers:
            value = torch.relu(layer(value))
        return self.action(value)


def load(folder):
    """Returns the images (each once), the number of the image in each step, states and actions."""
    columns = ["timestamp", "action", f"observation.{IMAGE}", *(f"observation.{name}" for name in STATE)]
    table = parquet.read_table(folder / "data.parquet", columns=columns)
    images, numbers, seen = [], {}, []
    for png in table[f"observation.{IMAGE}"]:
        png = png.as_py()
        if png not in numbers:
            numbers[png] = len(images)
            images.append(pooled(np.asarray(Image.open(io.BytesIO(png)))))
        seen.append(numbers[png])
    values = [np.asarray(table["timestamp"].to_pylist(), np.float32)[:, None]]
    values += [np.array(table[f"observation.{name}"].to_pylist(), np.float32) for name in STATE]
    actions = np.array(table["action"].to_pylist(), np.float32)
    return np.stack(images), np.array(seen), np.concatenate(values, axis=1), actions


def pooled(image):
    """Averages blocks of pixels, as the first node of the model does; channels first, 0 to 1."""
    block = SIDE // POOLED
    means = image.reshape(POOLED, block, POOLED, block, 3).mean(axis=(1, 3)) / 255
    return means.transpose(2, 0, 1).astype(np.float32)


def statistics(values):
    mean, std = values.mean(axis=0, dtype=float), values.std(axis=0, dtype=float)
    return mean, np.where(std < 1e-3, 1.0, std)


def train(images, seen, states, actions, rounds):
    """Fits the network by Adam on the squared error."""
    torch.manual_seed(0)
    state, action = statistics(states), statistics(actions)
    inputs = torch.from_numpy(((states - state[0]) / state[1]).astype(np.float32))
    wanted = torch.from_numpy(((actions - action[0]) / action[1]).astype(np.float32))
    images, seen = torch.from_numpy(images), torch.from_numpy(seen)
    network = Network(states.shape[1], actions.shape[1])
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds)
    for step in range(1, rounds + 1):
        chosen = torch.randint(0, len(inputs), (BATCH,))
        loss = (network(images[seen[chosen]], inputs[chosen]) - wanted[chosen]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"{step}: loss {loss.item():.4f}", flush=True)
    return network, state, action


def write_onnx(network, numbers, actions, path):
    """Writes the model: inputs `view` (1, 3, 224, 224), 0 to 1, and `state` (1, n), output `action` (1, 7)."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants = [], []
    add = lambda *words, **more: nodes.append(helper.make_node(*words, **more))  # noqa: E731

    def constant(name, tensor):
        constants.append(numpy_helper.from_array(tensor.detach().numpy(), name))
        return name

    def dense(name, layer, source):
        weights = [constant(f"{name}.w", layer.weight), constant(f"{name}.b", layer.bias)]
        add("Gemm", [source, *weights], [name], transB=1)
        return name

    block = SIDE // POOLED
    add("AveragePool", ["view"], ["pooled"], kernel_shape=[block, block], strides=[block, block])
    value = "pooled"
    for index, layer in enumerate(network.convolutions):
        weights = [constant(f"c{index}.w", layer.weight), constant(f"c{index}.b", layer.bias)]
        add("Conv", [value, *weights], [f"c{index}"], strides=[2, 2], pads=[1, 1, 1, 1])
        add("Relu", [f"c{index}"], [value := f"c{index}.out"])
    add("Flatten", [value], ["flat"])
    add("Relu", [dense("features", network.features, "flat")], ["found"])
    add("Concat", ["found", "state"], [value := "all"], axis=1)
    for index, layer in enumerate(network.layers):
        add("Relu", [dense(f"d{index}", layer, value)], [value := f"d{index}.out"])
    dense("action", network.action, value)
    floats = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    inputs = [floats("view", [1, 3, SIDE, SIDE]), floats("state", [1, numbers])]
    graph = helper.make_graph(nodes, "tidy_by_sight", inputs, [floats("action", [1, actions])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def main():
    parser = argparse.ArgumentParser(description="Trains a network on demonstrations of tidy_by_sight.")
    parser.add_argument("demonstrations", type=pathlib.Path, help="folder of a Parquet dataset")
    parser.add_argument("--rounds", type=int, default=1200)
    options = parser.parse_args()
    images, seen, states, actions = load(options.demonstrations)
    network, state, action = train(images, seen, states, actions, options.rounds)
    write_onnx(network, states.shape[1], actions.shape[1], HERE / "onnx" / "model.onnx")
    numbers = {"state_mean": state[0], "state_std": state[1], "action_mean": action[0], "action_std": action[1]}
    np.savez(HERE / "onnx" / "statistics.npz", **numbers)


if __name__ == "__main__":
    main()
