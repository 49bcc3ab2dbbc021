"""Tests of the test of flatness."""

import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from loadlib.flat import Bound, judge, theil_sen  # noqa: E402

BOUND = Bound(relative=0.1, absolute=1.0)
TIMES = [30.0 * n for n in range(120)]


def noisy(level) -> list[float]:
    """Returns a value for each time, with noise and a rare peak."""
    dice = random.Random(7)
    return [level(t) + dice.gauss(0, 2) + (500 if dice.random() < 0.03 else 0) for t in TIMES]


class Flatness(unittest.TestCase):
    """Series with a known answer."""

    def test_noise_with_peaks_is_flat(self):
        self.assertTrue(judge(TIMES, noisy(lambda _: 100.0), BOUND).good)

    def test_a_warm_up_in_the_first_quarter_does_not_count(self):
        self.assertTrue(judge(TIMES, noisy(lambda t: 20.0 if t < 600 else 100.0), BOUND).good)

    def test_a_leak_is_found(self):
        found = judge(TIMES, noisy(lambda t: 100.0 + t / 60), BOUND)
        self.assertFalse(found.good, found)
        self.assertAlmostEqual(found.slope_per_hour, 60.0, delta=3.0)

    def test_a_slope_is_that_of_most_pairs(self):
        self.assertAlmostEqual(theil_sen([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 900.0, 3.0]), 3600.0)

    def test_few_samples_are_refused(self):
        with self.assertRaises(ValueError):
            judge(TIMES[:7], [1.0] * 7, BOUND)


if __name__ == "__main__":
    unittest.main()
