"""Moves the drawer back and forth just short of where it counts as open."""

_act = Policy.act


def _swings(self, observation):
    global OPEN
    OPEN = 0.125 + 0.02 * np.sin(2.0 * observation["time"])
    action = _act(self, observation)
    if self.phase == "pull" and observation["drawer_opening"][0] > OPEN:
        action[:3] += 0.04 * matrix(observation["handle_orientation"])[:, 0]
    return action


Policy.act = _swings
