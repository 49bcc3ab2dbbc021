"""Builds the tower like the reference, and knocks it down."""

_act = Policy.act


def _topples(self, observation):
    up = observation["blue_position"][2] > 0.05 and len(self.moves or "123456789") <= 9 and observation["green_position"][2] < 0.03
    self.sweep = getattr(self, "sweep", False) or (up and observation["tcp_position"][2] > 0.18)
    if not self.sweep:
        return _act(self, observation)
    tower = observation["red_position"]
    beside = tower + [0.0, 0.09, 0.0]
    self.low = getattr(self, "low", False) or observation["tcp_position"][2] < 0.08
    if self.low:
        return arm([0.0, -0.2, 0.0])
    aside = np.linalg.norm((beside - observation["tcp_position"])[:2]) > 0.01
    return arm(over(observation, beside, 0.2) if aside else [0.0, 0.0, -0.15])


Policy.act = _topples
