"""Keeps pulling when the drawer is at its end stop."""

_wanted = Policy.wanted


def _on(self, tool, handle, inward, opening):
    return -0.12 * inward if self.phase == "pull" else _wanted(self, tool, handle, inward, opening)


Policy.wanted = _on
