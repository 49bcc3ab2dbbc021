"""The protocol of policies, in the jail and served from a process of yours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

#: Observation arrays by name, and `time`, `time_remaining` (seconds) and `instruction`.
Observation = Mapping[str, Any]


@runtime_checkable
class Policy(Protocol):
    """A policy with state: a fresh object lives for one episode. `reset` and `close` are optional."""

    def act(self, observation: Observation) -> Any:
        """Returns an action of shape (action_dim,), or rows of them to execute in turn."""
        ...


#: A function of an observation, a class whose objects are policies, or a policy that serves all episodes in turn.
PolicyLike = Callable[[Observation], Any] | type[Policy] | Policy


def for_episode(policy: PolicyLike, *, seed: int, instruction: str | None) -> Callable[[Observation], Any]:
    """Prepares a policy for an episode and returns the function that acts.

    >>> for_episode(lambda observation: observation["time"], seed=0, instruction=None)({"time": 1.5})
    1.5
    """
    made: Any = policy() if isinstance(policy, type) else policy
    reset = getattr(made, "reset", None)
    if callable(reset):
        reset(seed=seed, scenario=None, instruction=instruction)
    act = getattr(made, "act", None)
    if callable(act):
        function: Callable[[Observation], Any] = act
        return function
    if callable(made):
        return made  # type: ignore[no-any-return]
    raise TypeError(f"{policy!r} is not a policy: it needs a method act(observation), or must be callable")
