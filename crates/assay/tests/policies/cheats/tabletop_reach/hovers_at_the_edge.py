"""Oscillates about the edge of the last stage without coming to rest."""

_act = Policy.act


def _swings(self, observation):
    shown = dict(observation)
    shown["target_position"] = observation["target_position"] + [0.0, 0.02 + 0.01 * np.sin(3.0 * observation["time"]), 0.02]
    return _act(self, shown)


Policy.act = _swings
