"""The protocol of named arrays: JSON over HTTP, POST /reset for an episode and POST /act for a step."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import threading
from typing import Any

from ._policy_server import MAX_REQUEST_BYTES, Episodes, PolicyServer


def start(episodes: Episodes, host: str, port: int) -> PolicyServer:
    """Starts the HTTP server in a thread."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body are two packets; the second must not wait until the first is acknowledged.
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.answer(200, {}) if operation(self.path) == "health" else self.answer(404, {"error": "no such path"})

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > MAX_REQUEST_BYTES:
                self.close_connection = True
                self.answer(413, {"error": f"more than {MAX_REQUEST_BYTES} bytes"})
                return
            body = self.rfile.read(length)
            try:
                answer = respond(episodes, self.path, json.loads(body))
            except BaseException as error:  # a policy that calls exit ends its episode, not this server
                from ._answers import failure_text

                self.answer(500, {"error": failure_text(error)})
            else:
                self.answer(200 if answer is not None else 404, answer if answer is not None else {"error": "no such path"})

        def answer(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            with contextlib.suppress(ConnectionError):  # assay may have given up waiting
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
    name = operation(path)
    if name == "reset":
        episodes.reset(str(request["episode_id"]), seed=int(request["seed"]), instruction=request.get("instruction"))
        return {}
    if name == "act":
        observation = {name: array(value) for name, value in request["observation"].items()}
        observation["instruction"] = request.get("instruction") or ""
        return {"actions": packed(episodes.act(str(request["episode_id"]), observation))}
    return None


def operation(path: str) -> str:
    """Returns the last part of a path: those before it are the policy's name.

    >>> operation("/act"), operation("/lean/act")
    ('act', 'act')
    """
    return path.rpartition("/")[2]


def packed(actions: Any) -> Any:
    """Returns actions as lists, or where JSON has no word for a number, NaN or infinity, as `json_numpy`."""
    import numpy as np

    if np.isfinite(actions).all():
        return actions.tolist()
    return {"__numpy__": base64.b64encode(actions.tobytes()).decode(), "dtype": actions.dtype.str, "shape": actions.shape}


def array(value: Any) -> Any:
    """Returns a list as a float64 array, an image (`json_numpy`) as an array of its type, and a number as it is.

    >>> array([1, 2]).tolist()
    [1.0, 2.0]
    """
    import numpy as np

    if isinstance(value, dict):
        # Of memory of its own, so that the policy can change it.
        flat = np.frombuffer(bytearray(base64.b64decode(value["__numpy__"])), np.dtype(value["dtype"]))
        return flat.reshape(value["shape"])
    return np.asarray(value, dtype=np.float64) if isinstance(value, list) else value
