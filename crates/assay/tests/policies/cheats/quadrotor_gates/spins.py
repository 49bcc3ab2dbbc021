"""Hovers and spins about its vertical axis at the maximum rate."""

_act = Policy.act


def _spins(self, observation):
    action = _act(self, observation)
    if observation["time"] > 1.0:
        action[3] = 3.5
    return action


Policy.act = _spins
Policy.path = lambda self, observation: [(observation["position"] + [0.0, 0.0, 0.8], 0.8)]
