"""Decides whether a series of samples is flat."""

import dataclasses
import itertools
import statistics


@dataclasses.dataclass(frozen=True)
class Bound:
    """The amount by which the median of the last quarter may exceed that of the second quarter."""

    relative: float
    absolute: float


@dataclasses.dataclass(frozen=True)
class Finding:
    """Medians of the second and the last quarter, the maximum allowed, and the slope per hour."""

    second: float
    last: float
    allowed: float
    slope_per_hour: float

    @property
    def good(self) -> bool:
        """True if the series is flat."""
        return self.last <= self.allowed


def quarter(values: list[float], number: int) -> list[float]:
    """Returns the values of a quarter, counted from 0."""
    size = len(values) / 4
    return values[int(number * size) : int((number + 1) * size)]


def theil_sen(times_s: list[float], values: list[float]) -> float:
    """Returns the median slope over all pairs of samples, per hour (Theil 1950, Sen 1968)."""
    pairs = itertools.combinations(zip(times_s, values, strict=True), 2)
    slopes = [(y1 - y0) / (t1 - t0) for (t0, y0), (t1, y1) in pairs if t1 > t0]
    return 3600 * statistics.median(slopes) if slopes else 0.0


def judge(times_s: list[float], values: list[float], bound: Bound) -> Finding:
    """Compares the last quarter with the second. The first one, in which caches fill, does not count."""
    if len(values) < 8:
        raise ValueError(f"{len(values)} samples are too few for quarters")
    second, last = statistics.median(quarter(values, 1)), statistics.median(quarter(values, 3))
    begin = len(values) // 4
    slope = theil_sen(times_s[begin:], values[begin:])
    return Finding(second, last, second * (1 + bound.relative) + bound.absolute, slope)
