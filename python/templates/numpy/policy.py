"""A policy for {{id}}: {{name}}.

{{description}}
"""
# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy"]
# [tool.assay]
# runtime = "base"
# ///

import numpy as np


class Policy:
    """One object lives for one episode, in a process of its own, with numpy and the standard library."""

    def reset(self, *, seed, scenario, instruction):
        """Called once before the first observation."""
        self.random = np.random.default_rng(seed)

    def act(self, observation):
        """Called {{hz}} times per simulated second; returns {{numbers}}.

        observation["time"] and observation["time_remaining"] are seconds.
        """
        # {{observations}}
        # and returns
        # {{actions}}
        return np.zeros({{dim}})
