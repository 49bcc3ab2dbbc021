"""Drives to the passage as the reference does, and creeps through it at 50 mm/s, whoever comes."""

_act = Policy.act


def _creeps(self, observation):
    self.there = getattr(self, "there", False) or observation["position"][0] > 3.0
    return straight(observation, 0.05) if self.there else _act(self, observation)


Policy.act = _creeps
