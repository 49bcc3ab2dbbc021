"""Visits the first two marks like the reference, and stays where the person works."""

_goal = Policy.goal


def _stays(self, observation):
    marks = int(observation["marks"][0])
    return _goal(self, observation) if marks < 2 else observation["mark_1_position"]


Policy.goal = _stays
