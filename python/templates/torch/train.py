"""Trains the network and writes model.safetensors. Run it on your own machine, not in the jail:

    pip install numpy torch safetensors
    python3 train.py

The data are placeholders, so the network learns to return zeros; replace `demonstrations` by yours.
"""
# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy", "torch>=2.2", "safetensors>=0.4"]
# ///

import pathlib
import sys

try:
    import torch
    from safetensors.torch import save_file
except ModuleNotFoundError as error:
    sys.exit(f"the package {error.name} is missing: pip install numpy torch safetensors (or: uv run train.py)")

from network import ACTION_DIM, STATE_DIM, Network

WEIGHTS = pathlib.Path(__file__).with_name("model.safetensors")
SAMPLES, BATCH, STEPS, LEARNING_RATE = 4096, 256, 500, 1e-3


def demonstrations():
    """Returns states (n, STATE_DIM), as policy.py puts them together, and the actions (n, ACTION_DIM) to imitate."""
    return torch.randn(SAMPLES, STATE_DIM), torch.zeros(SAMPLES, ACTION_DIM)


def main():
    torch.manual_seed(0)
    states, actions = demonstrations()
    network = Network()
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    for step in range(1, STEPS + 1):
        chosen = torch.randint(len(states), (BATCH,))
        loss = torch.nn.functional.mse_loss(network(states[chosen]), actions[chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.5f}")
    save_file(network.state_dict(), WEIGHTS)
    print(f"wrote {WEIGHTS}")


if __name__ == "__main__":
    main()
