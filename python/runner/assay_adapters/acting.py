"""Turns a network's output into actions, one for each control step."""

from collections.abc import Callable

import numpy as np

from .errors import AdapterError


class Decoder:
    """Checks outputs and restores the units of their actions."""

    def __init__(self, table: dict, statistics: tuple[np.ndarray, np.ndarray] | None, output: str) -> None:
        """`table` is that of the action; `output` names the output in messages."""
        self.size, self.output, self.statistics = len(table["units"]), output, statistics
        self.chunk_size = table.get("chunk_size", 1)
        self.low, self.high = (np.array(table[key], float) if key in table else None for key in ("low", "high"))

    def decode(self, output: np.ndarray) -> np.ndarray:
        """Return actions of shape (chunk_size, size) in the scenario's units."""
        actions = np.asarray(output, dtype=float)
        if actions.ndim == 3 and actions.shape[0] == 1:
            actions = actions[0]
        elif actions.ndim == 1:
            actions = actions[None]
        if actions.shape != (self.chunk_size, self.size):
            raise AdapterError(self.wrong_shape(list(np.shape(output)), actions), "bad_action")
        if not np.isfinite(actions).all():
            chunk, number = np.argwhere(~np.isfinite(actions))[0]
            where = f"number {number}" if self.chunk_size == 1 else f"number {number} of action {chunk}"
            raise AdapterError(f"{self.output} is not finite: {where} is {actions[chunk, number]}", "bad_action")
        if self.statistics is not None:
            actions = actions * self.statistics[1] + self.statistics[0]
        if self.low is not None:
            actions = np.maximum(actions, self.low)
        if self.high is not None:
            actions = np.minimum(actions, self.high)
        return actions

    def wrong_shape(self, shape: list[int], actions: np.ndarray) -> str:
        expected = f"{self.output} has shape {shape}, but {self.chunk_size} x {self.size} is declared (chunk_size, units)"
        if actions.ndim == 2 and actions.shape[1] == self.size:
            return f"{expected}; set chunk_size = {actions.shape[0]}, and replan_steps to how many of them to execute"
        return f"{expected}; an output has the shape [{self.size}], [1, {self.size}] or [1, chunk_size, {self.size}]"


class Chunks:
    """Actions of an output that are not executed yet."""

    def __init__(self, infer: Callable[[dict], np.ndarray], steps: int) -> None:
        """`infer` returns actions for an observation, of which `steps` are executed before it is called again."""
        self.infer, self.steps = infer, steps
        self.actions, self.next = np.empty((0, 0)), 0

    def act(self, observation: dict) -> np.ndarray:
        if self.next == len(self.actions):
            self.actions, self.next = self.infer(observation)[: self.steps], 0
        self.next += 1
        return self.actions[self.next - 1]
