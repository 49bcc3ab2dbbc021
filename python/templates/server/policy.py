"""A policy for {{id}} that server.py serves: {{name}}.

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
    """One object lives for one episode. A server may use any package and a GPU; load a model outside the class."""

    def reset(self, *, seed, scenario, instruction):
        """Called once before the first observation; a server has no description of the scenario (None)."""
        self.random = np.random.default_rng(seed)

    def act(self, observation):
        """Called {{hz}} times per simulated second; returns {{numbers}}, or rows of them to execute in turn.

        observation["time"] and observation["time_remaining"] are seconds.
        """
        # {{observations}}
        # and returns
        # {{actions}}
        return np.zeros({{dim}})
