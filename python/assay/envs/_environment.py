"""A scenario as a Gymnasium environment."""

import hashlib
import math
import struct
import tomllib
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .._numbers import MAX_EPISODE, MAX_SEED, whole
from ._lane import ACTION, OBSERVATION, READY, Lane, installation
from ._layout import Layout
from .errors import InvalidAction, InvalidArgument, NeedsReset, NotInstalled

Observation = dict[str, NDArray[Any]]
Action = NDArray[np.float64]


def world_seed(seed: int, episode: int) -> int:
    """Returns the seed of the world of episode `episode` (from 0) of `assay verify --seed SEED`."""
    digest = hashlib.sha256(b"assay/world/1" + struct.pack("<QI", seed, episode)).digest()
    return int.from_bytes(digest[:8], "little") >> 11


class AssayEnv(gymnasium.Env[Observation, Action]):
    """An environment of one scenario. The lane that judges policies is its simulator.

    The reward is the increase of the progress (the share of the stages' points, 0 to 1); success adds nothing.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}

    def __init__(self, scenario: str, render_mode: str | None = None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode {render_mode!r} is unknown: use None or 'rgb_array'")
        home = installation()
        folder = home / "scenarios" / scenario
        if not (folder / "scenario.toml").is_file():
            raise NotInstalled(f"scenario {scenario!r} is not in {home / 'scenarios'}: see `assay scenario list`")
        file = tomllib.loads((folder / "scenario.toml").read_text())
        self.metadata = {**self.metadata, "render_fps": round(file["world"]["control_hz"])}
        self.render_mode = render_mode
        self.clauses = [clause["id"] for clause in file["clause"]]
        axes = file["control"]["action"]
        low, high = ([float(axis[side]) for axis in axes] for side in ("low", "high"))
        self.action_space = spaces.Box(np.array(low), np.array(high), dtype=np.float64)
        self._seed, self._episode = 0, -1
        self._lane = Lane(folder, home / "robots", render_mode is not None)
        announced = self._lane.begin(0, world_seed(0, 0))["observation"]
        self._layout = Layout(len(self.clauses), announced, render_mode is not None)
        time = spaces.Box(-math.inf, math.inf, (1,), np.float64)
        arrays: Any = {array["name"]: _space(array["dtype"], tuple(array["shape"])) for array in announced}
        # Typed loosely: gymnasium's Dict is a space of dictionaries of anything.
        space: Any = spaces.Dict({"time": time, "time_remaining": time, **arrays})
        self.observation_space = space
        self._ready, self._seq, self._progress = False, 0, 0.0
        self._robustness = np.full(len(self.clauses), math.inf)
        self._picture: NDArray[np.uint8] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins episode 0 of `assay verify --seed SEED`, or options["episode"]; without a seed, the next one.

        Numbers may be Python's or numpy's.
        """
        self._begin(seed, options)
        _, observation, info = self._receive()
        info |= {"seed": self._seed, "episode_number": self._episode}
        if seed is not None or options is not None:
            # Its name before: kept where no wrapper that records statistics under it, such as RecordEpisodeStatistics,
            # sees it. Those of vectors reset without arguments.
            info["episode"] = self._episode
        return observation, info

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Runs one control step. The info contains margins, robustness, cost, success and progress."""
        if not self._ready:
            raise NeedsReset("no episode is running: call reset() first")
        numbers = np.asarray(action, dtype="<f8")
        if numbers.shape != self.action_space.shape or not np.isfinite(numbers).all():
            raise InvalidAction(f"an action is {self.action_space.shape} finite numbers, not {action!r}")
        before = self._progress
        self._act(numbers.tobytes())
        kind, observation, info = self._receive()
        reward = self._progress - before
        if kind == OBSERVATION:
            return observation, reward, False, False, info
        self._ready = False
        result = self._lane.end()
        info |= {"success": result["success"], "termination": result["termination"], "stages": result["stages"]}
        info |= {"trace_hash": result["trace_hash"], "result": result}
        truncated = result["termination"] == "time_limit"
        return observation, reward, not truncated, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """Returns the picture of the last observation, with render_mode="rgb_array"."""
        return self._picture

    def close(self) -> None:
        """Ends the lane's process."""
        self._ready = False
        self._lane.close()

    def _begin(self, seed: Any, options: dict[str, Any] | None) -> None:
        """Begins an episode, whose first observation is then to be received."""
        chosen = None if seed is None else whole("seed", seed, 0, MAX_SEED, InvalidArgument)
        after = -1 if chosen is not None else self._episode
        episode = whole("the episode", (options or {}).get("episode", after + 1), 0, MAX_EPISODE, InvalidArgument)
        super().reset(seed=chosen)
        if chosen is not None:
            self._seed = chosen
        elif self._episode < 0:
            self._seed = int(self.np_random.integers(2**53))
        self._episode = episode
        self._ready = False
        if self._lane.process.returncode is not None:
            raise NeedsReset("the environment is closed: make a new one")
        self._lane.begin(self._episode, world_seed(self._seed, self._episode))
        self._lane.send(READY, 0, b"")
        self._seq, self._progress = 0, 0.0
        self._robustness.fill(math.inf)
        self._ready = True

    def _act(self, action: bytes) -> None:
        self._lane.send(ACTION, self._seq, action)
        self._seq += 1

    def _receive(self) -> tuple[int, Observation, dict[str, Any]]:
        # A new buffer for each frame: the arrays of the observation share its memory.
        frame = bytearray(self._layout.frame_bytes)
        kind = self._lane.receive_into(memoryview(frame))
        count, numbers = len(self.clauses), self._layout.feedback(frame)
        margins, robustness = numbers[:count], numbers[count : 2 * count]
        # A formula applied to one control step alone is an approximation; a clause without any violation costs nothing.
        violated = (robustness < 0) & ((margins < 0) | (robustness < self._robustness))
        self._robustness = robustness
        values = numbers.tolist()
        self._progress = values[2 * count]
        info = {
            "margins": dict(zip(self.clauses, values)),
            "robustness": dict(zip(self.clauses, values[count:])),
            "cost": float(np.count_nonzero(violated)),
            "success": values[2 * count + 1] != 0.0,
            "progress": self._progress,
            "time": values[2 * count + 2],
        }
        self._picture = self._layout.picture(frame)
        return kind, self._layout.observation(frame), info


def _space(dtype: str, shape: tuple[int, ...]) -> spaces.Box:
    if dtype == "u8":
        return spaces.Box(0, 255, shape, np.uint8)
    return spaces.Box(-math.inf, math.inf, shape, np.float32 if dtype == "f32" else np.float64)
