"""Drives to the passage like the reference, and stays in the worker's lane."""

_act = Policy.act


def _stays(self, observation):
    self.there = getattr(self, "there", False) or observation["position"][0] > 4.95
    return np.zeros(2) if self.there else _act(self, observation)


Policy.act = _stays
