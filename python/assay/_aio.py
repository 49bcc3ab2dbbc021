"""Runs the synchronous client for asyncio."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Runs a function in a thread. A cancelled task does not wait for it; its request is completed in the background."""
    return await asyncio.to_thread(functools.partial(function, *arguments, **named))


async def iterate(function: Callable[..., Iterator[T]], *arguments: Any, **named: Any) -> AsyncIterator[T]:
    """Yields what an iterator yields, each element from a thread."""
    iterator, end = function(*arguments, **named), object()
    while (item := await asyncio.to_thread(next, iterator, end)) is not end:
        yield item  # type: ignore[misc]
