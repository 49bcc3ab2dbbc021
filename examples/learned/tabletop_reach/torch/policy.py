"""The network of the folder `numpy`, run by PyTorch: `train.py` writes its weights to both folders."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.2", "numpy"]
# ///

import pathlib

import numpy as np
import torch

# A policy has one processor; more threads would only wait for each other.
torch.set_num_threads(1)
torch.set_num_interop_threads(1)

STATE = ["tcp_position", "tcp_orientation", "target_position"]
STATE += [f"post_{index}_{what}" for index in range(3) for what in ("position", "size")]
WEIGHTS = dict(np.load(pathlib.Path(__file__).with_name("weights.npz")))
LIMIT = np.array([0.5, 0.5, 0.5, 2.5, 2.5, 2.5, 1.0])


def network():
    """Returns the network with its trained weights."""
    layers = []
    for index in range(3):
        matrix, bias = (torch.from_numpy(WEIGHTS[f"{kind}{index}"]) for kind in "wb")
        layer = torch.nn.Linear(*matrix.shape)
        layer.weight, layer.bias = torch.nn.Parameter(matrix.T.contiguous()), torch.nn.Parameter(bias)
        layers += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1]).eval()


NETWORK = network()


@torch.inference_mode()
def policy(observation):
    """Velocity of the tool (m/s, rad/s), and the gripper's opening."""
    state = np.concatenate([[observation["time"]], *(observation[name] for name in STATE)])
    value = ((state - WEIGHTS["state_mean"]) / WEIGHTS["state_std"]).astype(np.float32)
    action = NETWORK(torch.from_numpy(value)).numpy() * WEIGHTS["action_std"] + WEIGHTS["action_mean"]
    return np.clip(action, -LIMIT, LIMIT)
