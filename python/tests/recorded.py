"""A recorded session of a release, answered again; and a service as a later release may be, in front of a real one."""

import contextlib
import http.client
import json
import pathlib
import sys
import threading
from collections.abc import Callable, Iterator
from email.message import Message
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from testlib.limits import PATIENCE_S

CRATES = pathlib.Path(__file__).resolve().parents[2] / "crates"
SESSIONS = CRATES / "assay/tests/fixtures/sessions"
CONTRACTS = CRATES / "assay/tests/fixtures/contracts"
DOCUMENT = CRATES / "assay-api/tests/api/snapshots/api__openapi__document.snap"
API = "/v1"


class Server(ThreadingHTTPServer):
    """Does not print that a client closed its connection."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Provides the address of an HTTP server."""
    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def parts(headers: Message, body: bytes) -> dict[str, str]:
    """Returns the text fields of a form."""
    message = BytesParser().parsebytes(b"Content-Type: " + headers["Content-Type"].encode() + b"\r\n\r\n" + body)
    fields = [part for part in message.get_payload() if not part.get_filename()]
    return {part.get_param("name", header="content-disposition"): part.get_payload() for part in fields}


class Session:
    """Gives the answers of a recorded session one after another, whatever is asked, and keeps what was asked."""

    def __init__(self, steps: list[dict[str, Any]]) -> None:
        self.steps = iter(steps)
        self.asked: list[tuple[str, str, Any]] = []

    def handler(self) -> type[BaseHTTPRequestHandler]:
        session = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                kind = self.headers.get("Content-Type", "")
                sent = json.loads(body) if kind == "application/json" else None
                sent = parts(self.headers, body) if kind.startswith("multipart/") else sent
                session.asked.append((self.command, self.path, sent))
                answer = next(session.steps)["answer"]
                data = b"" if answer["body"] is None else json.dumps(answer["body"]).encode()
                self.send_response(answer["status"])
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


class Later:
    """Passes requests on to a real service, and changes its answers as later releases may: more fields everywhere,
    other values of enumerations (`renamed`), other headers, and events with names."""

    def __init__(self, service: str, renamed: dict[str, str]) -> None:
        self.service, self.renamed = service.removeprefix("http://"), renamed

    def changed(self, value: Any) -> Any:
        """Returns a document with unknown fields in each of its objects."""
        if isinstance(value, list):
            return [self.changed(inner) for inner in value]
        if isinstance(value, dict):
            inner = {name: self.changed(inner) for name, inner in value.items()}
            return {"added_first": {"nested": [1]}, **inner, "added_last": "unknown", "class": None}
        return self.renamed.get(value, value) if isinstance(value, str) else value

    def event(self, line: bytes) -> bytes:
        """Returns a line of a stream; before each event comes one that has a name."""
        if not line.startswith(b"data:"):
            return line
        state = json.dumps(self.changed(json.loads(line[5:])))
        return f"data: {state}\n\nevent: notice\ndata: not even JSON\n\n: {state}\nunknown: x\n".encode()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        later = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                passed = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
                with contextlib.closing(http.client.HTTPConnection(later.service, timeout=PATIENCE_S)) as connection:
                    connection.request(self.command, self.path, body or None, passed)
                    self.give(connection.getresponse())

            def give(self, response: http.client.HTTPResponse) -> None:
                kind = response.headers.get("Content-Type", "")
                self.send_response(response.status)
                self.send_header("Content-Type", kind)
                for name, value in (("Server", "assay/99.0.0"), ("Deprecation", "@1688169599"), ("Warning", '299 - "new"')):
                    self.send_header(name, value)
                if kind.startswith("text/event-stream"):
                    self.end_headers()
                    self.copy(response.readline, later.event)
                    return
                data = response.read()
                if kind.startswith("application/json"):
                    data = json.dumps(later.changed(json.loads(data))).encode()
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def copy(self, read: Callable[[], bytes], change: Callable[[bytes], bytes]) -> None:
                while line := read():
                    self.wfile.write(change(line))
                    self.wfile.flush()

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
