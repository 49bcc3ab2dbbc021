"""The common parts of the servers of all protocols: the policies of their episodes, and a handle of the server."""

from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from .policy import Observation, PolicyLike, for_episode

#: Longest request in bytes: images of all cameras, encoded.
MAX_REQUEST_BYTES = 64 << 20
#: Episodes at the same time, more than assay begins. No request announces an episode's end, so the oldest is dropped.
MAX_EPISODES = 32
#: Characters of a traceback that are sent to assay, which shows the end of it.
MAX_ERROR = 8_000


class Episodes:
    """The policies of the running episodes. Calls are made one at a time: most networks are not safe to share."""

    def __init__(self, policy: PolicyLike) -> None:
        self._policy = policy
        self._running: collections.OrderedDict[str, Callable[[Observation], Any]] = collections.OrderedDict()
        self._lock = threading.Lock()
        #: The exception that the policy raised last, if any.
        self.error: BaseException | None = None

    def reset(self, episode: str, *, seed: int, instruction: str | None) -> None:
        """Begins an episode."""
        with self._lock, self._remembering():
            self._running[episode] = for_episode(self._policy, seed=seed, instruction=instruction)
            while len(self._running) > MAX_EPISODES:
                self._running.popitem(last=False)

    def act(self, episode: str, observation: dict[str, Any]) -> Any:
        """Returns the actions for an observation, as an array of shape (rows, action_dim)."""
        import numpy as np

        with self._lock, self._remembering():
            if episode not in self._running:
                self._running[episode] = for_episode(self._policy, seed=0, instruction=observation.get("instruction"))
            return np.atleast_2d(np.asarray(self._running[episode](observation), dtype=np.float64))

    @contextlib.contextmanager
    def _remembering(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
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
