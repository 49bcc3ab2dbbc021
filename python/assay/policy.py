"""The protocol of policies, in the jail and served from a process of yours."""

from __future__ import annotations

import collections
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
        from ._answers import call

        call(reset, {"seed": seed, "scenario": None, "instruction": instruction})
    act = getattr(made, "act", made)
    if callable(act):
        function: Callable[[Observation], Any] = act
        return function
    raise TypeError(f"{policy!r} is not a policy: it needs a method act(observation), or must be callable")


def state_of(policy: PolicyLike) -> dict[str, Any] | None:
    """Returns what shows whether an object without `reset` has changed: its attributes, as far as they are small.

    None for a class, and for an object with `reset`, which begin each episode anew.

    >>> class Counter:
    ...     def __init__(self): self.steps = 0
    ...     def act(self, observation): self.steps += 1
    >>> counter = Counter()
    >>> before = state_of(counter)
    >>> counter.act({})
    >>> before == state_of(counter)
    False
    """
    if isinstance(policy, type) or callable(getattr(policy, "reset", None)):
        return None
    found = {}
    for name, value in getattr(policy, "__dict__", {}).items():
        is_small = value is None or isinstance(value, (bool, int, float, str))
        length = len(value) if isinstance(value, (list, dict, set, collections.deque)) else None
        found[name] = value if is_small else (id(value), length)
    return found
