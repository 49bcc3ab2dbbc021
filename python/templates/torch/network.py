"""The network, for training and for the policy."""

from torch import nn

STATE_DIM, ACTION_DIM, HIDDEN = {{state_dim}}, {{dim}}, 64


class Network(nn.Module):
    """A multilayer perceptron from (n, STATE_DIM) to (n, ACTION_DIM)."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(STATE_DIM, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, ACTION_DIM)
        )

    def forward(self, state):
        return self.layers(state)
