"""Layout of the frames of a lane: the numbers of the feedback, the observation, and the picture."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER_BYTES = 24
PICTURE_SHAPE = (360, 480, 3)
#: Arrays of a frame are rows of a buffer of bytes.
Frames = NDArray[np.uint8]
DTYPES: dict[str, type[np.generic]] = {"f64": np.float64, "f32": np.float32, "u8": np.uint8}
#: Numbers before the observation, besides margins and robustness of each clause: progress and success.
TASK = 2
FLOAT_BYTES = 8


class Layout:
    """The layout of the frames of one scenario.

    A frame is: header; margin of each clause; robustness of each clause; progress; success; time; remaining time; the
    arrays of the observation in the order of INIT; the picture.
    """

    def __init__(self, clauses: int, observation: Sequence[dict[str, Any]], with_picture: bool) -> None:
        self.clauses = clauses
        #: Count of the numbers at the beginning, the two times included.
        self.numbers = 2 * clauses + TASK + 2
        at = HEADER_BYTES + (2 * clauses + TASK) * FLOAT_BYTES
        #: Name, type, shape, and first byte of each array.
        self.arrays: list[tuple[str, np.dtype[Any], tuple[int, ...], int]] = []
        self._strides: list[tuple[int, ...]] = []
        times = [{"name": name, "dtype": "f64", "shape": [1]} for name in ("time", "time_remaining")]
        for array in [*times, *observation]:
            dtype, shape = np.dtype(DTYPES[array["dtype"]]), tuple(array["shape"])
            self.arrays.append((array["name"], dtype, shape, at))
            self._strides.append(np.empty(shape, dtype).strides)
            at += math.prod(shape) * dtype.itemsize
        self.picture_at = at if with_picture else None
        self.frame_bytes = at + (math.prod(PICTURE_SHAPE) if with_picture else 0)

    def observation(self, frame: bytearray) -> dict[str, NDArray[Any]]:
        """Returns the arrays of an observation, which share the memory of the frame."""
        return {name: np.ndarray(shape, dtype, frame, at) for name, dtype, shape, at in self.arrays}

    def feedback(self, frame: bytearray) -> NDArray[np.float64]:
        """Returns the numbers of the feedback, which share the memory of the frame."""
        return np.ndarray((self.numbers,), np.float64, frame, HEADER_BYTES)

    def picture(self, frame: bytearray) -> NDArray[np.uint8] | None:
        """Returns the picture, which shares the memory of the frame."""
        return None if self.picture_at is None else np.ndarray(PICTURE_SHAPE, np.uint8, frame, self.picture_at)

    def observations(self, frames: Frames) -> dict[str, NDArray[Any]]:
        """Returns the arrays of several frames, [frames, ...], which share their memory."""
        count, stride = frames.shape
        return {
            name: np.ndarray((count, *shape), dtype, frames.data, at, (stride, *strides))
            for (name, dtype, shape, at), strides in zip(self.arrays, self._strides, strict=True)
        }

    def feedbacks(self, frames: Frames) -> NDArray[np.float64]:
        """Returns the numbers of several frames, [frames, numbers], which share their memory."""
        strides = (frames.shape[1], FLOAT_BYTES)
        return np.ndarray((len(frames), self.numbers), np.float64, frames.data, HEADER_BYTES, strides)
