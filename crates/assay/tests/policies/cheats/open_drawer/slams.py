"""Opens the drawer and slams it shut."""

_act = Policy.act


def _slams(self, observation):
    action = _act(self, observation)
    self.back = getattr(self, "back", False) or observation["drawer_opening"][0] > 0.1
    if self.back:
        inward, _, _ = matrix(observation["handle_orientation"]).T
        action[:3] = 0.5 * inward
    return action


Policy.act = _slams
