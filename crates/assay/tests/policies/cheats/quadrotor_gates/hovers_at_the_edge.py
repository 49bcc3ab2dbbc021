"""Oscillates about the edge of the last stage, to be there without coming to rest."""

_act = Policy.act


def _swings(self, observation):
    shown = dict(observation)
    if observation["gates_passed"][0] >= 4:
        self.points = [(observation["goal_position"] - [0.15 + 0.15 * np.sin(4.0 * observation["time"]), 0.0, 0.0], 1.2)]
    return _act(self, shown)


Policy.act = _swings
