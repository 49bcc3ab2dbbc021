"""Serves a policy from this process, over HTTP or openpi's WebSocket protocol.

A policy that is served runs outside of the jail, with all packages and the GPU of its machine. assay cannot know what ran, so
the identity in the report is `declared`.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import http.server
import json
import threading
import traceback
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
PROTOCOLS = ("http", "openpi")


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


def serve(
    policy: PolicyLike, *, host: str = "127.0.0.1", port: int = 0, protocol: str = "http", block: bool = False
) -> PolicyServer:
    """Serves a policy: a function of an observation, a class of policies (one object for each episode), or an object.

    `port` 0 chooses a free one, which `url` contains. `protocol` is `http` or `openpi` (which needs the packages of the extra
    `openpi`). With `block`, returns only after Ctrl-C. Other hosts can connect if `host` is an address of this machine; there
    is no key, so do that in trusted networks only.

    >>> import numpy as np
    >>> with serve(lambda observation: np.zeros(7)) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol {protocol!r}: choose one of {', '.join(PROTOCOLS)}")
    episodes = Episodes(policy)
    if protocol == "openpi":
        from .openpi import start

        server = start(episodes, host, port)
    else:
        server = start_http(episodes, host, port)
    if block:
        server.wait()
    return server


def start_http(episodes: Episodes, host: str, port: int) -> PolicyServer:
    """Starts the HTTP server in a thread."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body are two packets; the second must not wait until the first is acknowledged.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.answer(200, {}) if self.path == "/health" else self.answer(404, {"error": "no such path"})

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > MAX_REQUEST_BYTES:
                self.close_connection = True
                self.answer(413, {"error": f"more than {MAX_REQUEST_BYTES} bytes"})
                return
            body = self.rfile.read(length)
            try:
                answer = respond(episodes, self.path, json.loads(body))
            except Exception:
                self.answer(500, {"error": traceback.format_exc()[-MAX_ERROR:]})
            else:
                self.answer(200 if answer is not None else 404, answer if answer is not None else {"error": "no such path"})

        def answer(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Writes no line for each of thousands of requests."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        # Do not wait for a policy that hangs.
        block_on_close = False

    server = Server((host, port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()

    def close() -> None:
        server.shutdown()
        server.server_close()

    return PolicyServer(f"http://{host}:{server.server_address[1]}", episodes, close, thread)


def respond(episodes: Episodes, path: str, request: dict[str, Any]) -> Any:
    """Answers a request of the contract of named arrays; None for another path."""
    if path == "/reset":
        episodes.reset(str(request["episode_id"]), seed=int(request["seed"]), instruction=request.get("instruction"))
        return {}
    if path == "/act":
        observation = {name: array(value) for name, value in request["observation"].items()}
        observation["instruction"] = request.get("instruction") or ""
        return {"actions": episodes.act(str(request["episode_id"]), observation).tolist()}
    return None


def array(value: Any) -> Any:
    """Returns a list as a float64 array, an image (`json_numpy`) as an array of its type, and a number as it is.

    >>> array([1, 2]).tolist()
    [1.0, 2.0]
    """
    import numpy as np

    if isinstance(value, dict):
        flat = np.frombuffer(base64.b64decode(value["__numpy__"]), np.dtype(value["dtype"]))
        return flat.reshape(value["shape"])
    return np.asarray(value, dtype=np.float64) if isinstance(value, list) else value
