"""Follows the reference, with an added tremor while the hand is high."""

SPEED = 0.15
_act = Policy.act


def _trembles(self, observation):
    self.sign = -getattr(self, "sign", 1.0)
    action = _act(self, observation)
    if observation["tcp_position"][2] > 0.12:
        action[2] += 0.04 * self.sign
    return action


Policy.act = _trembles
