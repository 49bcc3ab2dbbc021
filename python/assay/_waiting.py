"""Waits for the end of a job or submission."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from . import models as wire
from ._progress import Progress
from .errors import WaitTimeout

FINAL = frozenset({"COMPLETED", "FAILED", "CANCELLED"})
#: Follows the events below a path, after an event or from the beginning, until the function returns true.
Follow = Callable[[str, "str | None", Callable[[], bool]], Iterator[wire.JobUpdate]]


def until_ended(
    follow: Follow,
    path: str,
    get: Callable[[], Any],
    timeout_s: float | None,
    progress: bool | None,
    on_update: Callable[[wire.JobUpdate], None] | None = None,
) -> Any:
    """Follows the events of the job at `path` until it has ended, and returns what `get` returns then.

    Raises:
        WaitTimeout: it had not ended after `timeout_s` seconds. It continues.
    """
    started = time.monotonic()
    has_ended = False

    def is_late() -> bool:
        return timeout_s is not None and time.monotonic() - started > timeout_s

    with Progress(progress) as bar:
        for update in follow(path, None, is_late):
            # A newer service may have other final states than those known here.
            has_ended = bool(update.done)
            bar.update(update)
            if on_update:
                on_update(update)
    job = get()
    if is_late() and not has_ended and job.status not in FINAL:
        raise WaitTimeout(f"{path.split('/')[2]} is {job.status} after {timeout_s:g} s; it continues on the service")
    return job
