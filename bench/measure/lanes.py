"""Measures the throughput of two lanes on two processors against one lane on one processor."""

from . import ceiling
from .common import result, verify

EPISODES = 24
TARGET = (">=", 1.8)


def run(bench):
    one, two, ratios, spread, most = [], [], [], [], []
    for _ in range(bench.repetitions):
        one.append(rate(verify(bench, EPISODES, lanes=1, core=0)))
        two.append(rate(verify(bench, EPISODES, lanes=2)))
        ratios.append(two[-1] / one[-1])
        spread.append(two[-1] / rate(verify(bench, EPISODES, lanes=1)))
        most.append(ceiling.measured(bench))
    return [
        result("two lanes on two processors / one on one", ratios, TARGET, "x"),
        result("  one lane, one processor: episodes a second", one),
        result("  two lanes, two processors: episodes a second", two),
        result("  two lanes / one that may use both for start-ups", spread, None, "x"),
        ceiling.row(most),
    ]


def rate(episodes):
    """Returns the episodes per second between the first and the last end, which excludes start-up."""
    return (len(episodes) - 1) / (episodes[-1].ended - episodes[0].ended)
