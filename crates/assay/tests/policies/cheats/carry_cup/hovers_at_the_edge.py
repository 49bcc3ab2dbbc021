"""Moves the bowl in and out of the stage `near` without ever delivering it."""

_act = Policy.act


def _swings(self, observation):
    shown = dict(observation)
    shown["target_position"] = observation["target_position"] + [0.0, -0.01 * np.sin(observation["time"]), 0.09]
    return _act(self, shown)


Policy.act = _swings
