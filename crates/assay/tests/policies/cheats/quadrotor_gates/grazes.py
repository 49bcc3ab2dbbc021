"""Flies through the gates a few millimetres from their sides."""

_path = Policy.path


def _aside(self, observation):
    shown = dict(observation)
    for i in range(4):
        shown[f"gate_{i}"] = observation[f"gate_{i}"] + [0.0, 0.23, 0.0]
    return _path(self, shown)


Policy.path = _aside
