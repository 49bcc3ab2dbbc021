#!/usr/bin/env python3
"""Times rtamt and scipy, the usual alternatives, on the formulas of `bench/run --only stl`.

Writes traces (`--trace FILE:SAMPLES`) with columns x, y, and prints JSON: for each formula, its robustness, the time in
microseconds that rtamt 0.4.10 (discrete time, offline) and hand-written numpy/scipy code take for the first trace, and
whether the two agree. Needs rtamt, scipy and numpy (requirements/bench.txt), and Python 3.11 or 3.12, for rtamt.
"""

import argparse
import json
import logging
import time

import numpy as np
import rtamt
from scipy.ndimage import maximum_filter1d, minimum_filter1d

logging.disable(logging.CRITICAL)
PERIOD_S = 0.002
ROUNDS = {"rtamt": 1, "scipy": 30}
NEAR = 1e-9


def ahead(filtered, x, seconds):
    """Returns the extremum of x[i .. i + window], clipped at the end."""
    width = round(seconds / PERIOD_S) + 1
    padding = np.inf if filtered is minimum_filter1d else -np.inf
    return filtered(x, width, origin=-((width - 1) // 2), mode="constant", cval=padding)


def limit(x, y):
    return np.min(5 - x)


def window(x, y):
    return np.min(ahead(minimum_filter1d, 5 - x, 0.2)[0])


def response(x, y):
    return np.min(np.maximum(1 - x, ahead(maximum_filter1d, -y, 0.2)))


def long_response(x, y):
    return np.min(np.maximum(1 - x, ahead(maximum_filter1d, -y, 2)))


def settles(x, y):
    return np.min(np.maximum(1 - x, ahead(maximum_filter1d, ahead(minimum_filter1d, 0.5 - y, 0.4), 2)))


# Formulas and their hand-written equivalents. Windows have an odd number of samples, so that scipy's can be centred.
FORMULAS = {
    "always (x <= 5)": limit,
    "always[0:0.2] (x <= 5)": window,
    "always (x > 1 implies eventually[0:0.2] (y < 0))": response,
    "always (x > 1 implies eventually[0:2] (y < 0))": long_response,
    "always (x > 1 implies eventually[0:2] always[0:0.4] (y < 0.5))": settles,
}


def best(work, rounds):
    """Returns the result and the minimum time in microseconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        value = work()
        times.append(1e6 * (time.perf_counter() - start))
    return float(value), min(times)


def by_rtamt(text, x, y):
    spec = rtamt.StlDiscreteTimeSpecification()
    for name in ("x", "y", "out"):
        spec.declare_var(name, "float")
    spec.set_sampling_period(round(1e3 * PERIOD_S), "ms", 0.1)
    spec.spec = f"out = {text}"
    spec.parse()
    # New lists for each call, because rtamt pads them in place. Their creation is not timed.
    data = {"time": [i * PERIOD_S for i in range(len(x))], "x": x.tolist(), "y": y.tolist()}
    return best(lambda: spec.evaluate(data)[0][1], ROUNDS["rtamt"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trace", action="append", required=True, help="FILE:SAMPLES")
    args = parser.parse_args()
    first = None
    for trace in args.trace:
        path, _, samples = trace.rpartition(":")
        rng = np.random.default_rng(args.seed)
        t = np.arange(int(samples)) * PERIOD_S
        # Slow waves with noise, so that windows matter.
        x = 2 * np.sin(5 * t) + 0.1 * rng.normal(size=t.size)
        y = np.cos(6.5 * t) + 0.1 * rng.normal(size=t.size)
        np.savetxt(path, np.column_stack([x, y]), delimiter=",", fmt="%.17g")
        first = first or (x, y)
    x, y = first
    out = {}
    for text, by_hand in FORMULAS.items():
        library, rtamt_us = by_rtamt(text, x, y)
        hand, scipy_us = best(lambda: by_hand(x, y), ROUNDS["scipy"])
        agree = abs(library - hand) < NEAR
        out[text] = {"robustness": hand, "agree": agree, "rtamt": library, "rtamt_us": rtamt_us, "scipy_us": scipy_us}
    print(json.dumps(out))


if __name__ == "__main__":
    main()
