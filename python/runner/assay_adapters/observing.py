"""Turns an observation into the arrays that a network takes."""

from collections.abc import Callable

import numpy as np

# Entries of an observation that are numbers, not arrays.
CLOCKS = ("time", "time_remaining")
Statistics = tuple[np.ndarray, np.ndarray] | None


def size_of(table: dict) -> int:
    """Return the number of numbers that the arrays of an input have together."""
    return sum(array["size"] for array in table["arrays"])


def numbers(table: dict, shape: tuple[int, ...], dtype: np.dtype, statistics: Statistics) -> Callable:
    """Return the function that concatenates and normalises arrays; its result is overwritten by the next call."""
    names = [array["name"] for array in table["arrays"]]
    wide, narrow = np.empty(size_of(table)), np.empty(shape, dtype)
    flat = narrow.reshape(-1)

    def observe(observation: dict) -> np.ndarray:
        parts = [(observation[name],) if name in CLOCKS else observation[name].ravel() for name in names]
        np.concatenate(parts, out=wide)
        if statistics is not None:
            np.subtract(wide, statistics[0], out=wide)
            np.divide(wide, statistics[1], out=wide)
        flat[:] = wide
        return narrow

    return observe


def pixels(name: str, shape: tuple[int, ...], dtype: np.dtype, statistics: Statistics) -> Callable:
    """Return the function that makes an image (height, width, 3) of bytes one of (3, height, width) from 0 to 1.

    A network that takes bytes gets them as they are.
    """
    image = np.empty(shape, dtype)
    planes = image.reshape(shape[-3:])
    channel = None if statistics is None else [part[:, None, None].astype(dtype) for part in statistics]

    def observe(observation: dict) -> np.ndarray:
        seen = observation[name].transpose(2, 0, 1)
        if dtype == np.uint8:
            planes[:] = seen
            return image
        np.divide(seen, 255, out=planes, casting="unsafe")
        if channel is not None:
            np.subtract(planes, channel[0], out=planes)
            np.divide(planes, channel[1], out=planes)
        return image

    return observe
