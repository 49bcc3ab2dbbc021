"""Errors of environments. Each message states what to do."""

from ..errors import AssayError


class EnvironmentFailure(AssayError):
    """Base of the errors of environments."""


class NotInstalled(EnvironmentFailure):
    """A program, a scenario or a robot is not where it was looked for."""


class ScenarioRefused(EnvironmentFailure):
    """The lane cannot use the scenario."""


class LaneEnded(EnvironmentFailure):
    """The lane's process ended or broke the protocol; `reset` does not help, a new environment does."""


class NeedsReset(EnvironmentFailure):
    """The episode has not begun or has ended, or the environment is closed."""


class InvalidAction(EnvironmentFailure, ValueError):
    """The action has the wrong shape or a number that is not finite; the episode continues."""


class InvalidArgument(EnvironmentFailure, ValueError):
    """A seed or the number of an episode is not one of `assay verify`."""
