"""`assay serve` on a data folder, and a small HTTP client for it. Standard library only."""

import contextlib
import dataclasses
import http.client
import io
import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.parse
import zipfile

from .limits import PATIENCE_S

LISTENING = "listening on http://"
BOUNDARY = "assay-testlib-3b1f5a60c7d94e28"


def archive(files: dict[str, str]) -> bytes:
    """Returns a zip archive of files, which are given as content by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return buffer.getvalue()


def form(file_field: str, content: bytes | None, parts: dict) -> tuple[str, bytes]:
    """Returns content type and body of a form with text parts and, unless there is no content, a file."""
    head = f"--{BOUNDARY}\r\ncontent-disposition: form-data; name="
    text = "".join(f'{head}"{name}"\r\n\r\n{value}\r\n' for name, value in parts.items())
    if content is None:
        return f"multipart/form-data; boundary={BOUNDARY}", f"{text}--{BOUNDARY}--\r\n".encode()
    text += f'{head}"{file_field}"; filename="{file_field}.zip"\r\n\r\n'
    body = text.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    return f"multipart/form-data; boundary={BOUNDARY}", body


@dataclasses.dataclass
class Answer:
    """Status, headers (lower case) and body of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self):
        """Returns the body as JSON."""
        return json.loads(self.body)

    def text(self, most: int = 400) -> str:
        """Returns the beginning of the body, for messages."""
        return self.body[:most].decode(errors="replace")


class Client:
    """A client with a key, which opens a connection for each request."""

    def __init__(self, address: str, key: str):
        self.address, self.key = address, key

    def open(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None):
        """Returns the open connection and the response, for bodies that are read incrementally."""
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
        sent = {"authorization": f"Bearer {self.key}"} | (headers or {})
        connection.request(method, urllib.parse.quote(path, safe="/?=&%.:"), body, sent)
        return connection, connection.getresponse()

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None) -> Answer:
        """Returns the answer to a request, whatever its status."""
        connection, response = self.open(method, path, body, headers)
        with contextlib.closing(connection):
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())

    def send_json(self, method: str, path: str, value) -> Answer:
        """Returns the answer to a request with a JSON document."""
        return self.ask(method, path, json.dumps(value).encode(), {"content-type": "application/json"})

    def upload(self, path: str, content: bytes | None, parts: dict, file_field: str = "policy") -> Answer:
        """Returns the answer to a form, with an archive unless there is no content."""
        kind, body = form(file_field, content, parts)
        return self.ask("POST", path, body, {"content-type": kind})


class Service:
    """A running `assay serve`; its log goes to a file."""

    def __init__(
        self, assay: pathlib.Path, data: pathlib.Path, log: pathlib.Path, options=(), listen="127.0.0.1:0", environment=None
    ):
        self.log = log
        command = [assay, "serve", "--listen", listen, "--data", data, *map(str, options)]
        with open(log, "ab") as output:
            begin = output.tell()
            variables = os.environ | (environment or {})
            self.child = subprocess.Popen(command, stderr=output, start_new_session=True, env=variables)
        self.address = self._wait_for_address(begin)
        self.key = (data / "bootstrap-key").read_text().strip()

    def _wait_for_address(self, begin: int) -> str:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.child.poll() is None:
            for line in self.log.read_bytes()[begin:].decode(errors="replace").splitlines(keepends=True):
                if LISTENING in line and line.endswith("\n"):
                    return line.split(LISTENING)[1].strip()
            time.sleep(0.05)
        self.kill()
        raise SystemExit(f"the service did not start:\n{self.log.read_text(errors='replace')}")

    def client(self, key: str | None = None) -> Client:
        """Returns a client with this key, or with the first one."""
        return Client(self.address, key or self.key)

    def stop(self) -> None:
        """Stops the service with SIGTERM, as an operator does."""
        self.child.send_signal(signal.SIGTERM)
        if self.child.wait(PATIENCE_S) != 0:
            raise SystemExit(f"the service did not stop cleanly:\n{self.log.read_text(errors='replace')[-4000:]}")

    def kill(self) -> None:
        """Kills the service if it is still running."""
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait(PATIENCE_S)
