"""Server-sent events of a job, with reconnection."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from typing import Any

from ._http import Http, decoded_object
from .errors import ConnectionFailed, RateLimited, Unavailable

#: Longest outage of the service that a follower waits out, in seconds.
OUTAGE_LIMIT_S = 600.0
#: Pause between two attempts to connect again, in seconds.
PAUSE_S = 1.0
LONGEST_PAUSE_S = 15.0

#: An event's id (None for a tick of progress), and its data.
Event = tuple[str | None, dict[str, Any]]


def follow(http: Http, path: str, last: str | None, is_stopped: Callable[[], bool]) -> Iterator[Event]:
    """Yields the events of a stream until the service ends it; connects again after a lost connection or a restart, and
    then resumes after the last event that had an id.

    Raises:
        ConnectionFailed: the service was away for longer than `OUTAGE_LIMIT_S`.
        ApiError: the service refused the stream, for example because the key was revoked.
    """
    away_since: float | None = None
    pause = PAUSE_S
    while not is_stopped():
        try:
            for event in connected(http, path, last):
                away_since, pause = None, PAUSE_S
                last = event[0] or last
                yield event
                if event[1].get("done"):
                    return
                if is_stopped():
                    return
        except Ended:
            return
        except (ConnectionFailed, Unavailable, RateLimited, OSError, HTTPException) as error:
            away_since = away_since or time.monotonic()
            if time.monotonic() - away_since > OUTAGE_LIMIT_S:
                raise error if isinstance(error, ConnectionFailed) else http.unreachable(error) from error
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


class Ended(Exception):
    """The service said that there is nothing more to come (204)."""


def connected(http: Http, path: str, last: str | None) -> Iterator[Event]:
    """Yields the events of one connection. The states of a job have no name; named events, which a newer service may
    send, are skipped."""
    headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
    response = http.send("GET", path, headers=headers, own=True)
    try:
        if response.status == 204:
            raise Ended
        id_, data, is_named = None, list[str](), False
        for raw in response.lines():
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                id_ = value
            elif name == "data":
                data.append(value)
            elif name == "event":
                is_named = value != "message"
            elif not line:
                if data and not is_named:
                    yield id_, decoded_object("\n".join(data).encode(), http.url)
                id_, data, is_named = None, [], False
    finally:
        response.close()
