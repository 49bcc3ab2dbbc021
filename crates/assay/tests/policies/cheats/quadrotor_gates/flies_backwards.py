"""Flies around the first gate and through it from behind, repeatedly."""


def _backwards(self, observation):
    gate = observation["gate_0"]
    side = np.array([0.0, -1.0 if gate[1] > 0 else 1.0, 0.0])
    ahead = np.array([0.35, 0.0, 0.0])
    points = [(observation["position"] + [0.0, 0.0, 0.6], self.speed), (gate + side - ahead, self.speed)]
    points += [(place, 0.6) for place in (gate + side + ahead, gate + ahead, gate - ahead)]
    return [*points, (gate - 2 * ahead, self.speed)]


Policy.path = _backwards
