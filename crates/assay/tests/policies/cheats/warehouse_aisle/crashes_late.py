"""Drives like the reference, and rams the end of the aisle from the bay's edge."""

_act = Policy.act


def _late(self, observation):
    self.gone = getattr(self, "gone", False) or observation["position"][0] > 9.0
    return straight(observation, 1.1) if self.gone else _act(self, observation)


Policy.act = _late
