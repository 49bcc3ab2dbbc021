"""Requests to a service: connections, retries, errors, uploads, downloads. Standard library only."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import ssl
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any
from urllib.parse import urlencode, urlsplit

from .errors import ConnectionFailed, DownloadError, IncompatibleServer, UnsupportedOperation, api_error

#: Seconds without any byte after which a request is given up. The service sends a comment every 15 s in a stream.
TIMEOUT_S = 60.0
#: The same for a request whose answer is the result of work (a preflight, a check of a scenario, a replay): the service
#: limits the processor time of the work, which takes longer on a busy machine.
WORK_TIMEOUT_S = 1800.0
#: Times that a request is repeated after a broken connection, 429 or 503.
RETRIES = 5
#: Longest pause before a repetition, in seconds; a service's Retry-After counts up to this.
LONGEST_PAUSE_S = 60.0
FIRST_PAUSE_S = 0.25
CHUNK_BYTES = 1 << 16
#: Answers are read up to this length; downloads are not limited.
MOST_ANSWER_BYTES = 64 << 20
#: The version of the API that this client speaks, and the prefix of its paths. A service of every release has it.
API = "/v1"
#: How services refuse paths that they do not have; a missing job or scenario has another message.
NO_SUCH_PATH = "there is nothing at this path"
METHOD_NOT_ALLOWED = 405

Query = Mapping[str, Any]
#: Yields a body; called again for each repetition.
Body = Callable[[], Iterable[bytes]]


class Response:
    """An answer whose body has not been read."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.status = response.status
        self.headers = response.headers

    def read(self) -> bytes:
        """Returns the body, and leaves the connection ready for the next request."""
        data = self._response.read(MOST_ANSWER_BYTES + 1)
        if len(data) > MOST_ANSWER_BYTES:
            self.close()
            raise IncompatibleServer(f"the service sent more than {MOST_ANSWER_BYTES >> 20} MiB in one answer")
        return data

    def chunks(self) -> Iterator[bytes]:
        """Yields the body in pieces."""
        while data := self._response.read(CHUNK_BYTES):
            yield data

    def lines(self) -> Iterator[bytes]:
        """Yields the lines of a stream."""
        while line := self._response.readline():
            yield line

    def close(self) -> None:
        """Ends the connection, in the middle of a body too."""
        self._connection.close()


class Http:
    """Connections to one service, one for each thread."""

    def __init__(self, url: str, key: str | None, timeout_s: float, retries: int, context: ssl.SSLContext | None) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a service; write http://host:port or https://host")
        self.base = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc.rsplit('@')[-1]}{self.base}"
        self._is_tls = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._key, self._timeout_s, self._retries = key, timeout_s, retries
        self._context = context
        self._local = threading.local()
        self._lock = threading.Lock()
        self._opened: list[http.client.HTTPConnection] = []
        weakref.finalize(self, close_all, self._opened)

    def connection(self, works: bool = False) -> http.client.HTTPConnection:
        """Creates a connection of its own; one for a request whose answer is work waits longer."""
        timeout_s = WORK_TIMEOUT_S if works and self._timeout_s == TIMEOUT_S else self._timeout_s
        if self._is_tls:
            context = self._context or ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout_s, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)

    def _kept(self) -> http.client.HTTPConnection:
        """Returns the connection of this thread, which is reused."""
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if kept is None:
            kept = self._local.connection = self.connection()
            with self._lock:
                self._opened.append(kept)
        return kept

    def use(self, key: str) -> None:
        """Sends another key from now on."""
        self._key = key

    def key(self) -> str | None:
        """Returns the key that is sent."""
        return self._key

    def close(self) -> None:
        """Closes the connections of all threads; a later request opens another."""
        with self._lock:
            close_all(self._opened)

    def json(self, method: str, path: str, **options: Any) -> Any:
        """Sends a request and returns the decoded answer; None for 204."""
        response = self.send(method, path, **options)
        data = response.read()
        if options.get("works"):
            response.close()
        if response.status == 204:
            return None
        return decoded_object(data, self.url)

    def send(
        self, method: str, path: str, *, query: Query | None = None, body: Body | None = None, length: int | None = None,
        content: str | None = None, headers: Mapping[str, str] | None = None, own: bool = False,
        works: bool = False, prefix: str = API,
    ) -> Response:  # fmt: skip
        """Sends a request, again after failures that may pass, and returns the answer if it is a success.

        Every POST has an idempotency key, so a repetition has no second effect. The path is one of the API, unless
        `prefix` is empty: then it is one that the service named. `works` says that the answer is the result of work.

        Raises:
            ConnectionFailed: the service cannot be reached.
            ApiError: the service refused the request.
            UnsupportedOperation: the service is too old or too new for this operation.
            IncompatibleServer: something else answered, or a service whose API has another version.
        """
        given = {name: text(value) for name, value in (query or {}).items() if value is not None}
        target = f"{self.base}{prefix}{path}" + (f"?{urlencode(given)}" if given else "")
        fields = {"Accept": "application/json", **(headers or {})}
        if self._key:
            fields["Authorization"] = f"Bearer {self._key}"
        if method == "POST":
            fields.setdefault("Idempotency-Key", str(uuid.uuid4()))
        if content:
            fields["Content-Type"] = content
        if body is not None and length is not None:
            fields["Content-Length"] = str(length)
        elif method in ("POST", "PATCH"):
            fields["Content-Length"] = "0"
        pause = FIRST_PAUSE_S
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            connection = self.connection(works) if own or works else self._kept()
            try:
                connection.request(method, target, body=body() if body else None, headers=fields)
                response = Response(connection, connection.getresponse())
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if is_last or isinstance(error, ssl.SSLError):
                    raise self.unreachable(error) from error
            else:
                if response.status < 300:
                    return response
                refusal = self._refusal(response, method, path)
                if own or works:
                    response.close()
                wished = waiting(response.headers.get("Retry-After"))
                # A longer wait is for a quota, such as the submissions of a day.
                if is_last or response.status not in (429, 503) or wished > LONGEST_PAUSE_S:
                    raise refusal
                pause = max(pause, wished)
            time.sleep(min(pause, LONGEST_PAUSE_S) * random.uniform(1.0, 1.2))
            pause = min(2 * pause, LONGEST_PAUSE_S)
        raise AssertionError("unreachable")

    def unreachable(self, error: BaseException) -> ConnectionFailed:
        """Creates the error for a service that does not answer."""
        why = str(error) or type(error).__name__
        return ConnectionFailed(f"cannot reach {self.url}: {why}. Is the service running, and the address right?")

    def _refusal(self, response: Response, method: str, path: str) -> Exception:
        data = response.read()
        if 300 <= response.status < 400:
            where = response.headers.get("Location", "elsewhere")
            return IncompatibleServer(f"{self.url} redirects to {where}: use that address")
        error = refused(data)
        missing = response.status == 404 and (error is None or error.get("message") == NO_SUCH_PATH)
        if missing or (error and response.status == METHOD_NOT_ALLOWED):
            response.close()
            return self._unsupported(method, path, response.status)
        if error is None:
            return IncompatibleServer(f"{self.url} answered {response.status}, but not as a service of assay does")
        return api_error(response.status, error)

    def _unsupported(self, method: str, path: str, status: int) -> IncompatibleServer:
        """Creates the error for a path that the service does not have, after a look at the service's version."""
        connection = self.connection()
        try:
            connection.request("GET", f"{self.base}/", headers={"Accept": "application/json"})
            index = decoded_object(Response(connection, connection.getresponse()).read(), self.url)
        except (OSError, http.client.HTTPException, IncompatibleServer):
            index = {}
        finally:
            connection.close()
        if index.get("name") != "assay":
            return IncompatibleServer(f"{self.url} answered {status}, but not as a service of assay does")
        version, api = index.get("version"), urlsplit(str(index.get("api"))).path.rstrip("/")
        if not api.endswith(API):
            return IncompatibleServer(
                f"{self.url} is assay {version}, whose API is {index.get('api')}; this client speaks {API}: install the "
                "wheel of the service's version"
            )
        return UnsupportedOperation(
            f"{self.url} is assay {version}, which has no {method} {path}: its version differs from this client's "
            "(upgrade the older of the two), or its operator turned this off"
        )


def close_all(connections: list[http.client.HTTPConnection]) -> None:
    for connection in connections:
        connection.close()


def decoded(data: bytes, url: str) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise IncompatibleServer(
            f"{url} did not answer with JSON; is this the address of a service of assay, and not of its proxy?"
        ) from error


def decoded_object(data: bytes, url: str) -> dict[str, Any]:
    """Returns the object that an answer is; all answers of the API are objects."""
    value = decoded(data, url)
    if not isinstance(value, dict):
        raise IncompatibleServer(f"{url} did not answer with an object, as a service of assay does")
    return value


def refused(data: bytes) -> dict[str, Any] | None:
    """Returns the error in the body of a refusal; `None` if it has none."""
    try:
        body = json.loads(data)
    except ValueError:
        return None
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else None


def waiting(header: str | None) -> float:
    try:
        return float(header or 0)
    except ValueError:
        return 0.0


def text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def json_body(value: Any) -> dict[str, Any]:
    """Returns the options of `Http.send` for a JSON body."""
    data = json.dumps(value).encode()
    return {"body": lambda: [data], "length": len(data), "content": "application/json"}


def form(fields: Mapping[str, Any], files: Mapping[str, str | os.PathLike[str] | bytes]) -> dict[str, Any]:
    """Returns the options of `Http.send` for a multipart form. Files are read while they are sent."""
    boundary = uuid.uuid4().hex
    parts: list[tuple[bytes, str | os.PathLike[str] | bytes, int]] = []
    for name, value in fields.items():
        if value is not None:
            data = text(value).encode()
            parts.append((f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode(), data, len(data)))
    for name, file in files.items():
        shown = "policy.zip" if isinstance(file, bytes) else quoted(os.path.basename(os.fspath(file)))
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{shown}"\r\n'
        head += "Content-Type: application/zip\r\n\r\n"
        size = len(file) if isinstance(file, bytes) else os.path.getsize(file)
        parts.append((head.encode(), file, size))
    end = f"--{boundary}--\r\n".encode()
    length = sum(len(head) + size + 2 for head, _, size in parts) + len(end)

    def body() -> Iterator[bytes]:
        for head, value, _ in parts:
            yield head
            if isinstance(value, bytes):
                yield value
            else:
                with open(value, "rb") as source:
                    yield from pieces(source)
            yield b"\r\n"
        yield end

    return {"body": body, "length": length, "content": f"multipart/form-data; boundary={boundary}"}


def pieces(source: IO[bytes]) -> Iterator[bytes]:
    while data := source.read(CHUNK_BYTES):
        yield data


def quoted(name: str) -> str:
    """Returns a file name as the form's header can contain it."""
    return "".join(character if character.isprintable() and character not in '"\\' else "_" for character in name)


def save(response: Response, path: str | os.PathLike[str], sha256: str | None) -> None:
    """Writes a body to `path`, which appears only when all of it is there and has the right hash."""
    partial = f"{os.fspath(path)}.partial"
    expected = response.headers.get("Content-Length")
    digest, length = hashlib.sha256(), 0
    try:
        with open(partial, "wb") as file:
            for data in response.chunks():
                file.write(data)
                digest.update(data)
                length += len(data)
        if expected is not None and length != int(expected):
            raise DownloadError(f"the connection ended after {length} of {expected} bytes of {os.fspath(path)}; try again")
        if sha256 is not None and digest.hexdigest() != sha256:
            raise DownloadError(f"{os.fspath(path)} has SHA-256 {digest.hexdigest()}, but the report names {sha256}")
        os.replace(partial, path)
    except http.client.HTTPException as error:
        raise DownloadError(f"the connection ended during the download of {os.fspath(path)}; try again") from error
    finally:
        response.close()
        if os.path.exists(partial):
            os.remove(partial)
