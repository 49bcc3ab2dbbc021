"""Draws the frames of `crates/assay-sim/examples/pictures.rs` with MuJoCo's Python renderer, and prints the mean CPU time
of a frame in ms.

    bench/plain_pictures.py FOLDER WIDTH HEIGHT
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

os.environ["MUJOCO_GL"] = "egl"  # read when mujoco is imported
import mujoco  # noqa: E402

# Numbers of a frame's camera: position looked at, distance, azimuth, elevation, angle of view.
CAMERA = 7


def main():
    folder, width, height = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    model = mujoco.MjModel.from_binary_path(str(folder / "model.mjb"))
    data = mujoco.MjData(model)
    state = mujoco.mjtState.mjSTATE_INTEGRATION
    frames = np.fromfile(folder / "frames.bin").reshape(-1, mujoco.mj_stateSize(model, state) + CAMERA)
    camera = mujoco.MjvCamera()
    elapsed = 0.0
    with mujoco.Renderer(model, height, width) as renderer:
        for index, frame in enumerate([frames[0], *frames]):
            mujoco.mj_setState(model, data, frame[:-CAMERA], state)
            mujoco.mj_forward(model, data)
            camera.lookat[:] = frame[-CAMERA:-CAMERA + 3]
            camera.distance, camera.azimuth, camera.elevation, model.vis.global_.fovy = frame[-CAMERA + 3:]
            start = time.process_time()
            renderer.update_scene(data, camera)
            renderer.render()
            # The first frame initialises OpenGL.
            elapsed += (time.process_time() - start) if index else 0.0
    print(f"frame {1e3 * elapsed / len(frames)} ms")


if __name__ == "__main__":
    main()
