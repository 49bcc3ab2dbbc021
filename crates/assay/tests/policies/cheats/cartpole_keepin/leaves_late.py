"""Balances like the reference, and drives out of the zone at the end."""

_act = Policy.act


def _late(self, observation):
    return np.array([FORCE_N]) if observation["time"] > 8.8 else _act(self, observation)


Policy.act = _late
