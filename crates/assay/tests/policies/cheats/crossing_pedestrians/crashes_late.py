"""Crosses like the reference, and leaves the zone at full speed just before the goal."""

_act = Policy.act


def _late(self, observation):
    if getattr(self, "gone", False) or observation["position"][0] > 9.2:
        self.gone = True
        return np.array([1.5, 1.0 if yaw_of(observation) < 1.4 else 0.0])
    return _act(self, observation)


Policy.act = _late
