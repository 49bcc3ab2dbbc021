"""Follows the reference, but exceeds the speed limit for 60 ms twice a second."""

_act = Policy.act


def _in_bursts(self, observation):
    self.step = getattr(self, "step", -1) + 1
    action = _act(self, observation)
    if self.step % 25 < 3:
        action[:3] *= 2.5
    return action


Policy.act = _in_bursts
