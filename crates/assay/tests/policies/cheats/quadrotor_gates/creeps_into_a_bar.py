"""Flies into the side of the first gate at 50 mm/s."""


def _bar(self, observation):
    bar = observation["gate_0"] + [0.0, 0.325, 0.0]
    points = [(observation["position"] + [0.0, 0.0, 0.6], self.speed), (bar - [0.25, 0.0, 0.0], self.speed)]
    return [*points, (bar + [0.1, 0.0, 0.0], 0.05)]


NEAR_M = 0.08
Policy.path = _bar
