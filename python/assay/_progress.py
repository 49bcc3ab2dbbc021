"""A progress bar on standard error."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from .models import JobUpdate

WIDTH = 24
FULL, EMPTY = "━", "·"


class Progress:
    """A line that is rewritten. It is shown if standard error is a terminal, or if that is asked for."""

    def __init__(self, wanted: bool | None) -> None:
        self._shown = sys.stderr.isatty() and "CI" not in os.environ if wanted is None else wanted
        self._last = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._last:
            sys.stderr.write("\r" + " " * len(self._last) + "\r")
            sys.stderr.flush()

    def update(self, update: JobUpdate) -> None:
        """Shows the state of a job."""
        progress = update.progress
        done, total = (progress.episodes_done or 0, progress.episodes_total or 0) if progress else (0, 0)
        words = [str(update.status).lower(), f"{done} of {total} episodes"]
        if update.queue_position:
            words[0] = f"number {update.queue_position} in the queue"
        if update.eta_s is not None:
            words.append(f"about {update.eta_s:.0f} s left")
        self.show(done / total if total else 0.0, ", ".join(words))

    def show(self, share: float, words: str) -> None:
        """Shows a share from 0 to 1, and words."""
        if not self._shown:
            return
        full = round(WIDTH * min(max(share, 0.0), 1.0))
        line = f"{FULL * full}{EMPTY * (WIDTH - full)} {words}"
        sys.stderr.write("\r" + line.ljust(len(self._last)))
        sys.stderr.flush()
        self._last = line
