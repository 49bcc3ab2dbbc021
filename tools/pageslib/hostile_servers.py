"""Running policy servers whose metadata, errors, answers and farewells are strings that try to break out."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgpack
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from .hostile_text import text

HOST = "127.0.0.1"
# What a page must show of each server.
SERVER_MARKERS = {"SERVERBODY", "TRACEBACK", "ANSWERKEY", "BYE"}


class _Http(BaseHTTPRequestHandler):
    """The contract with named arrays, whose every answer to an observation is a hostile error."""

    server_version = text("SERVERNAME")

    def do_GET(self) -> None:  # noqa: N802, the name that the base class calls
        self._answer(200, "{}")

    def do_POST(self) -> None:  # noqa: N802, the name that the base class calls
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer(404 if self.path == "/reset" else 500, text("SERVERBODY"))

    def _answer(self, status: int, body: str) -> None:
        self.send_response(status, text("PHRASE"))
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_) -> None:
        """Says nothing."""


def _websocket(connection: ServerConnection) -> None:
    """openpi: hostile metadata, then what the path names instead of actions."""
    metadata = {text("KEY"): text("METADATA"), "action_space": text("SPACE"), "n_external_cameras": 0}
    connection.send(msgpack.packb(metadata))
    with contextlib.suppress(ConnectionClosed):
        for message in connection:
            is_reset = msgpack.unpackb(message).get("endpoint") == "reset"
            match connection.request.path:
                case "/keys":
                    connection.send("reset successful" if is_reset else msgpack.packb({text("ANSWERKEY"): [[0.0]]}))
                case "/bye":
                    connection.close(1011, text("BYE"))
                case _:
                    connection.send(f"Traceback:\n  {text('TRACEBACK')}\n")


@contextlib.contextmanager
def running() -> Iterator[list[str]]:
    """Runs the servers; returns the addresses under which they fail in different ways."""
    http = ThreadingHTTPServer((HOST, 0), _Http)
    with serve(_websocket, HOST, 0) as websocket:
        for server in (http, websocket):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        port = websocket.socket.getsockname()[1]
        try:
            yield [f"http://{HOST}:{http.server_port}", *(f"ws://{HOST}:{port}/{path}" for path in ("error", "keys", "bye"))]
        finally:
            http.shutdown()
            http.server_close()
