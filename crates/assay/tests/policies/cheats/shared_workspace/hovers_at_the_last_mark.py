"""Follows the reference, and stays 30 mm beside the last mark."""

_act = Policy.act


def _beside(self, observation):
    return _act(self, {**observation, "mark_2_position": observation["mark_2_position"] + [-0.03, 0.0, 0.0]})


Policy.act = _beside
