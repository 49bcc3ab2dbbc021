"""A network for {{id}}, run by PyTorch: {{name}}.

{{description}}

network.py defines the network; its weights are in model.safetensors, which train.py writes.
"""
# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.2", "safetensors>=0.4", "numpy"]
# [tool.assay]
# runtime = "torch"
# ///

import pathlib

import numpy as np
import torch
from safetensors.torch import load_file

from network import STATE_DIM, Network

# A policy has one processor; more threads would only wait for each other.
torch.set_num_threads(1)
torch.set_num_interop_threads(1)

# A relative path would be looked up in the current folder, which is not the policy's.
WEIGHTS = pathlib.Path(__file__).with_name("model.safetensors")
# What the network sees, in this order. The scenario offers:
# {{observations}}
STATE = {{state}}


def load():
    """Returns the trained network. Unlike pickle, safetensors runs no code while it loads."""
    if not WEIGHTS.is_file():
        raise FileNotFoundError(
            "model.safetensors is missing beside policy.py: write it with train.py on your own machine (see README.md)"
        )
    network = Network()
    network.load_state_dict(load_file(WEIGHTS, device="cpu"))
    return network.eval()


NETWORK = load()


class Policy:
    def reset(self, *, seed, scenario, instruction):
        """Called once before the first observation."""
        torch.manual_seed(seed)

    @torch.inference_mode()
    def act(self, observation):
        """Called {{hz}} times per simulated second; returns {{numbers}}."""
        # {{actions}}
        state = np.concatenate([np.ravel(observation[name]) for name in STATE]).astype(np.float32)
        if len(state) != STATE_DIM:
            raise ValueError(f"network.py takes {STATE_DIM} numbers, but the arrays of STATE have {len(state)}")
        return NETWORK(torch.from_numpy(state)[None, :])[0].double().numpy()
