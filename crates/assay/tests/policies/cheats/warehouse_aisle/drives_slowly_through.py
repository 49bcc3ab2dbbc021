"""Drives to the passage like the reference, and through it at 0.14 m/s, regardless of the worker."""

_act = Policy.act


def _slowly(self, observation):
    self.there = getattr(self, "there", False) or observation["position"][0] > 3.0
    return straight(observation, 0.14) if self.there else _act(self, observation)


Policy.act = _slowly
