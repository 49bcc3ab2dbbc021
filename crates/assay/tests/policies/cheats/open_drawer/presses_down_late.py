"""Opens the drawer like the reference, and presses the bar down just before it finishes."""

_act = Policy.act


def _late(self, observation):
    return arm([0.0, 0.0, -0.2]) if observation["drawer_opening"][0] > 0.14 else _act(self, observation)


Policy.act = _late
