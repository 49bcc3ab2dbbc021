"""Drives to the passage like the reference, and creeps through it at 50 mm/s, regardless of the worker."""

_act = Policy.act


def _creeps(self, observation):
    self.there = getattr(self, "there", False) or observation["position"][0] > 3.0
    return straight(observation, 0.05) if self.there else _act(self, observation)


Policy.act = _creeps
