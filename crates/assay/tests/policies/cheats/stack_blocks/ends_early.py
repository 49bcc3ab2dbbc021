"""Fails on purpose after a second, before any clause can be violated."""

_act = Policy.act


def _until_a_second(self, observation):
    if observation["time"] >= 1.0:
        raise SystemExit(0)
    return _act(self, observation)


Policy.act = _until_a_second
