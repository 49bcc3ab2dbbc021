"""openpi's WebSocket protocol: one connection for each episode, a msgpack map in each direction for each step."""

from __future__ import annotations

import contextlib
import importlib
import threading
import uuid
from typing import Any

from ._policy_server import MAX_REQUEST_BYTES, Episodes, PolicyServer
from .errors import ProgramError

PREFIX = "observation/"
#: WebSocket's close code for an internal error of the server.
INTERNAL_ERROR = 1011


def start(episodes: Episodes, host: str, port: int) -> PolicyServer:
    """Starts the WebSocket server in a thread."""
    try:
        msgpack, sync = importlib.import_module("msgpack"), importlib.import_module("websockets.sync.server")
    except ImportError as error:
        raise ProgramError(f"{error.name} is missing, which openpi's protocol needs: pip install msgpack websockets") from error

    def episode(socket: Any) -> None:
        name = uuid.uuid4().hex
        socket.send(msgpack.packb({}))
        try:
            for message in socket:
                request = msgpack.unpackb(message, object_hook=unpacked, strict_map_key=False)
                socket.send(msgpack.packb({"actions": packed(episodes.act(name, observation(request)))}))
        except BaseException as error:  # a policy that calls exit ends its episode, not this server
            from ._answers import failure_text

            with contextlib.suppress(Exception):  # the other side may have gone
                socket.send(failure_text(error))
                socket.close(INTERNAL_ERROR, "policy error")

    server = sync.serve(episode, host, port, compression=None, max_size=MAX_REQUEST_BYTES)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    return PolicyServer(f"ws://{host}:{server.socket.getsockname()[1]}", episodes, server.shutdown, thread)


def observation(request: dict[str, Any]) -> dict[str, Any]:
    """Returns the observation of a request under the names that policies in the jail see."""
    found = {name.removeprefix(PREFIX): value for name, value in request.items() if name.startswith(PREFIX)}
    return found | {"instruction": request.get("prompt") or ""}


def packed(array: Any) -> dict[bytes, Any]:
    """Returns an array as the protocol writes it: a map whose keys are bytes."""
    return {b"__ndarray__": True, b"data": array.tobytes(), b"dtype": array.dtype.str, b"shape": array.shape}


def unpacked(value: dict[Any, Any]) -> Any:
    """Returns the array or number that a map stands for, or the map itself."""
    import numpy as np

    if b"__ndarray__" in value:
        # Of memory of its own, so that the policy can change it.
        return np.frombuffer(bytearray(value[b"data"]), np.dtype(value[b"dtype"])).reshape(value[b"shape"])
    if b"__npgeneric__" in value:
        return np.dtype(value[b"dtype"]).type(value[b"data"])
    return value
