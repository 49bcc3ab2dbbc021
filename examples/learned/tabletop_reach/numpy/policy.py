"""A trained network with numpy alone: `train.py` beside this folder writes its weights."""

import pathlib

import numpy as np

STATE = ["tcp_position", "tcp_orientation", "target_position"]
STATE += [f"post_{index}_{what}" for index in range(3) for what in ("position", "size")]
WEIGHTS = dict(np.load(pathlib.Path(__file__).with_name("weights.npz")))
LAYERS = [(WEIGHTS[f"w{index}"], WEIGHTS[f"b{index}"]) for index in range(3)]
LIMIT = np.array([0.5, 0.5, 0.5, 2.5, 2.5, 2.5, 1.0])


def policy(observation):
    """Velocity of the tool (m/s, rad/s), and the gripper's opening."""
    state = np.concatenate([[observation["time"]], *(observation[name] for name in STATE)])
    value = ((state - WEIGHTS["state_mean"]) / WEIGHTS["state_std"]).astype(np.float32)
    for matrix, bias in LAYERS[:-1]:
        value = np.tanh(value @ matrix + bias)
    matrix, bias = LAYERS[-1]
    action = (value @ matrix + bias) * WEIGHTS["action_std"] + WEIGHTS["action_mean"]
    return np.clip(action, -LIMIT, LIMIT)
