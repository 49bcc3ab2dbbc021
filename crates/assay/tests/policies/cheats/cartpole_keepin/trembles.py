"""Balances as the reference does, with a tremor on top."""

_act = Policy.act


def _trembles(self, observation):
    self.sign = -getattr(self, "sign", 1.0)
    return np.clip(_act(self, observation) + 6.0 * self.sign, -FORCE_N, FORCE_N)


Policy.act = _trembles
