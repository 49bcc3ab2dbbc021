"""Carries the bowl like the reference, with an added tremor."""

_act = Policy.act


def _trembles(self, observation):
    self.sign = -getattr(self, "sign", 1.0)
    action = _act(self, observation)
    action[:3] += [0.0, 0.0, 0.3 * self.sign]
    return action


Policy.act = _trembles
