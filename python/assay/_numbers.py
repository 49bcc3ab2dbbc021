"""Whole numbers from callers: Python's and numpy's."""

from __future__ import annotations

import operator
from typing import Any

MAX_SEED = 2**64 - 1
MAX_EPISODE = 2**32 - 1


def whole(name: str, value: Any, low: int, high: int, error: type[Exception]) -> int:
    """Returns a whole number, also one of numpy, or an array of one; raises `error` if it is none in the range.

    >>> whole("seed", 3, 0, 9, ValueError)
    3
    >>> whole("seed", 10, 0, 9, ValueError)
    Traceback (most recent call last):
    ...
    ValueError: seed must be a whole number from 0 to 9, not 10
    """
    item = value.item() if getattr(value, "size", None) == 1 and callable(getattr(value, "item", None)) else value
    try:
        number = None if isinstance(item, bool) else operator.index(item)
    except TypeError:
        number = None
    if number is None or not low <= number <= high:
        raise error(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return number
