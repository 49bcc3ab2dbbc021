"""Balances with the motor's full force one way or the other, nothing between."""

_act = Policy.act


def _bangs(self, observation):
    return FORCE_N * np.sign(_act(self, observation))


Policy.act = _bangs
