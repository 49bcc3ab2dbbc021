"""Several environments of one scenario at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .._numbers import MAX_SEED, whole
from ._environment import AssayEnv
from ._lane import LAST
from .errors import InvalidAction, InvalidArgument, NeedsReset

Observations = dict[str, NDArray[Any]]
Actions = NDArray[np.float64]


class AssayVectorEnv(VectorEnv[Observations, Actions, NDArray[Any]]):
    """Environments whose lanes run at the same time, while this process does what all of them need at once.

    An environment that has ended begins its next episode in the step that follows, which ignores its action and has
    the reward 0 (`AutoresetMode.NEXT_STEP`).
    """

    def __init__(self, scenario: str, num_envs: int = 1, render_mode: str | None = None) -> None:
        self.envs: list[AssayEnv] = []
        try:
            for _ in range(num_envs):
                self.envs.append(AssayEnv(scenario, render_mode))
        except BaseException:
            self.close_extras()
            raise
        first = self.envs[0]
        self.num_envs, self.render_mode = num_envs, render_mode
        self.metadata = {**first.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.single_observation_space, self.single_action_space = first.observation_space, first.action_space
        self.observation_space = batch_space(first.observation_space, num_envs)
        self.action_space: spaces.Space[Any] = batch_space(first.action_space, num_envs)
        self.clauses, self._layout = first.clauses, first._layout
        self._frames = np.zeros((num_envs, self._layout.frame_bytes), np.uint8)
        self._views = [memoryview(frame) for frame in self._frames]  # type: ignore[arg-type]
        self._kinds = np.zeros(num_envs, np.int64)
        self._progress = np.zeros(num_envs)
        self._robustness = np.full((num_envs, len(self.clauses)), np.inf)
        self._has_begun, self._has_ended = False, np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | NDArray[Any] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begins an episode in each environment; a single `seed` gives them the seeds `seed`, `seed` + 1, and so on."""
        seeds = self._seeds(seed)
        self._has_begun = False
        for env, own in zip(self.envs, seeds, strict=True):
            env._begin(own, options)
        self._progress.fill(0.0)
        self._robustness.fill(np.inf)
        self._has_ended.fill(False)
        observations, info = self._receive()
        self._has_begun = True
        info["seed"] = np.array([env._seed for env in self.envs])
        # `episode` is its name before, which the wrapper RecordEpisodeStatistics uses too, but not at a reset.
        info["episode_number"] = info["episode"] = np.array([env._episode for env in self.envs])
        return observations, info

    def step(
        self, actions: Actions
    ) -> tuple[Observations, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Runs one control step of each environment. The info contains arrays, one entry for each environment."""
        if not self._has_begun:
            raise NeedsReset("no episode is running: call reset() first")
        numbers = np.ascontiguousarray(actions, "<f8")
        if numbers.shape != self.action_space.shape or not np.isfinite(numbers).all():
            raise InvalidAction(f"actions are {self.action_space.shape} finite numbers, not {actions!r}")
        begins = self._has_ended.copy()
        for env, action, has_ended in zip(self.envs, numbers, begins.tolist(), strict=True):
            if not has_ended:
                env._act(action.tobytes())
        # While the others run.
        for at in np.flatnonzero(begins):
            self.envs[at]._begin(None, None)
            self._robustness[at] = np.inf
        before = self._progress.copy()
        observations, info = self._receive()
        rewards = np.where(begins, 0.0, self._progress - before)
        self._has_ended = self._kinds == LAST
        truncated = np.zeros(self.num_envs, bool)
        for at in np.flatnonzero(self._has_ended):
            truncated[at] = self._end(int(at), info)
        return observations, rewards, self._has_ended & ~truncated, truncated, info

    def render(self) -> tuple[Any, ...] | None:
        """Returns the picture of each environment's last observation, with render_mode="rgb_array"."""
        if self.render_mode is None:
            return None
        return tuple(self._layout.picture(bytearray(view)) for view in self._views)

    def close_extras(self, **_: Any) -> None:
        """Ends all lanes."""
        for env in self.envs:
            env.close()

    def _seeds(self, seed: Any) -> list[int | None]:
        """Returns the seed of each environment."""
        count = self.num_envs
        if seed is None:
            return [None] * count
        if np.ndim(seed) == 0:
            first = whole("seed", seed, 0, MAX_SEED + 1 - count, InvalidArgument)
            return [first + at for at in range(count)]
        if len(seed) != count:
            raise InvalidArgument(f"{len(seed)} seeds for {count} environments")
        return [None if one is None else whole("seed", one, 0, MAX_SEED, InvalidArgument) for one in seed]

    def _receive(self) -> tuple[Observations, dict[str, Any]]:
        for at, (env, view) in enumerate(zip(self.envs, self._views, strict=True)):
            self._kinds[at] = env._lane.receive_into(view)
        # A new buffer for each step: what is returned shares its memory.
        frames = self._frames.copy()
        numbers, count = self._layout.feedbacks(frames), len(self.clauses)
        margins, robustness = numbers[:, :count], numbers[:, count : 2 * count]
        violated = (robustness < 0) & ((margins < 0) | (robustness < self._robustness))
        self._robustness, self._progress = robustness.copy(), numbers[:, 2 * count].copy()
        info = {
            "margins": dict(zip(self.clauses, margins.T, strict=True)),
            "robustness": dict(zip(self.clauses, robustness.T, strict=True)),
            "cost": np.count_nonzero(violated, axis=1).astype(np.float64),
            "success": numbers[:, 2 * count + 1] != 0,
            "progress": numbers[:, 2 * count],
            "time": numbers[:, 2 * count + 2],
        }
        return self._layout.observations(frames), info

    def _end(self, at: int, info: dict[str, Any]) -> bool:
        """Adds the result of an episode to the info, and returns whether its time was up."""
        result = self.envs[at]._lane.end()
        self.envs[at]._ready = False
        info["success"][at] = result["success"]
        values = {name: result[name] for name in ("termination", "stages", "trace_hash")} | {"result": result}
        for name, value in values.items():
            if name not in info:
                info[name], info[f"_{name}"] = np.full(self.num_envs, None, object), np.zeros(self.num_envs, bool)
            info[name][at], info[f"_{name}"][at] = value, True
        return bool(result["termination"] == "time_limit")
