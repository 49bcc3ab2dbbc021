"""Balances with the cart 30 mm inside the zone's boundary."""

_act = Policy.act


def _aside(self, observation):
    place = 0.9 * min(observation["time"] / 4.0, 1.0)
    return _act(self, {**observation, "joint_position": observation["joint_position"] - [place, 0.0]})


Policy.act = _aside
