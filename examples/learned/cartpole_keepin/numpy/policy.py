"""A trained network with numpy alone: `train.py` beside this folder writes its weights."""

import pathlib

import numpy as np

FORCE_N = 12.0
WEIGHTS = np.load(pathlib.Path(__file__).with_name("weights.npz"))
LAYERS = [(WEIGHTS[f"w{index}"], WEIGHTS[f"b{index}"]) for index in range(len(WEIGHTS.files) // 2)]


def policy(observation):
    """Force on the cart."""
    value = np.concatenate([observation["joint_position"], observation["joint_velocity"]]).astype(np.float32)
    for matrix, bias in LAYERS[:-1]:
        value = np.tanh(value @ matrix + bias)
    matrix, bias = LAYERS[-1]
    return np.clip(value @ matrix + bias, -FORCE_N, FORCE_N)
