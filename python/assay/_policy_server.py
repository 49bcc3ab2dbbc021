"""The common parts of the servers of all protocols: the policies of their episodes, and a handle of the server."""

from __future__ import annotations

import collections
import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from .policy import Observation, PolicyLike, for_episode, state_of

#: Longest request in bytes: images of all cameras, encoded.
MAX_REQUEST_BYTES = 64 << 20
#: Episodes at the same time, more than assay begins. No request announces an episode's end, so the oldest is dropped.
MAX_EPISODES = 32


class Episodes:
    """The policies of the running episodes. Calls are made one at a time: most networks are not safe to share."""

    def __init__(self, policy: PolicyLike) -> None:
        self._policy = policy
        self._initial_state = state_of(policy)
        self._begun = 0
        self._running: collections.OrderedDict[str, Callable[[Observation], Any]] = collections.OrderedDict()
        self._lock = threading.Lock()
        #: The exception that the policy raised last, if any.
        self.error: BaseException | None = None

    def reset(self, episode: str, *, seed: int, instruction: str | None) -> None:
        """Begins an episode."""
        with self._lock, self._remembering():
            self._begin(episode, seed, instruction)

    def act(self, episode: str, observation: dict[str, Any]) -> Any:
        """Returns the actions for an observation, as an array of shape (rows, action_dim)."""
        from ._answers import replan_steps, rows

        with self._lock, self._remembering():
            if episode not in self._running:
                self._begin(episode, 0, observation.get("instruction"))
            act = self._running[episode]
            return rows(act(observation))[: replan_steps(getattr(act, "__self__", act))]

    def _begin(self, episode: str, seed: int, instruction: str | None) -> None:
        self._warn_of_state()
        self._running[episode] = for_episode(self._policy, seed=seed, instruction=instruction)
        while len(self._running) > MAX_EPISODES:
            self._running.popitem(last=False)

    def _warn_of_state(self) -> None:
        """Warns once of an object whose next episode begins with the state of the one before."""
        self._begun += 1
        if self._begun < 2 or self._initial_state is None:
            return
        before, now = self._initial_state, state_of(self._policy) or {}
        changed = [name for name in now if name not in before or before[name] != now[name]]
        if changed:
            self._initial_state = None
            name = type(self._policy).__name__
            warnings.warn(
                f"{name} has no method reset, and keeps {', '.join(changed)} from one episode to the next: define "
                f"reset(self), or pass the class {name} instead of an object",
                stacklevel=2,
            )

    @contextlib.contextmanager
    def _remembering(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.error = error
            raise


class PolicyServer:
    """A running server of a policy; `url` is its address. Use it as a context manager, or call `close`."""

    def __init__(self, url: str, episodes: Episodes, close: Callable[[], None], thread: threading.Thread) -> None:
        self.url = url
        self._episodes, self._close, self._thread = episodes, close, thread

    @property
    def error(self) -> BaseException | None:
        """The exception that the policy raised last, if any."""
        return self._episodes.error

    def wait(self) -> None:
        """Blocks until the server is closed, or Ctrl-C."""
        with contextlib.suppress(KeyboardInterrupt):
            while self._thread.is_alive():
                self._thread.join(1.0)
        self.close()

    def close(self) -> None:
        """Stops the server. A call of the policy that hangs is left behind."""
        self._close()
        self._thread.join(5.0)

    def __enter__(self) -> PolicyServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
