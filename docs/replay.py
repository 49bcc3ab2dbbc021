#!/usr/bin/env python3
"""Run the physics of a recorded episode again without assay, and compare it with the recording to the bit.

    pip install mujoco==3.17.0 numpy pyarrow
    python replay.py OUT/episodes/000

Takes model.mjb, state.bin and inputs.npz, steps MuJoCo, and compares every row of trace.parquet: positions, velocities,
and the chain of hashes whose last value is the report's `trace_hash`. Exit code 0: the same; 1: the first difference is
named; 2: something is missing. Read it before you trust it; it uses nothing of ours.
"""

import hashlib
import os
import pathlib
import sys

# The C library picks code by the processor; assay holds it to what every x86-64 processor has. Read at program start.
TUNABLES = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"


def absorb(start: bytes, *arrays) -> bytes:
    """SHA-256 over `start` and each array's length and doubles, little-endian."""
    digest = hashlib.sha256(start)
    for array in arrays:
        digest.update(len(array).to_bytes(8, "little"))
        digest.update(array.astype("<f8").tobytes())
    return digest.digest()


def replay(folder: pathlib.Path) -> str:
    """Step through the episode; returns its hash, or raises ValueError at the first difference."""
    import mujoco
    import numpy as np
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(folder / "trace.parquet")
    facts = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    if mujoco.__version__ != facts["mujoco"]:
        raise SystemExit(f"recorded with mujoco {facts['mujoco']}, this is {mujoco.__version__}")
    column = {name: table[name].to_numpy() for name in table.column_names if name != "trace_hash"}
    group = lambda name: np.stack([column[f"{name}.{i}"] for i in range(sum(c.startswith(f"{name}.") for c in column))], 1)
    recorded = {"qpos": group("qpos"), "qvel": group("qvel")}
    action, control_step, hashes = group("action"), column["control_step"], table["trace_hash"].to_pylist()

    model = mujoco.MjModel.from_binary_path(str(folder / "model.mjb"))
    data = mujoco.MjData(model)
    integration = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.fromfile(folder / "state.bin", "<f8")
    mujoco.mj_setState(model, data, state, integration)
    inputs = dict(np.load(folder / "inputs.npz"))
    following = {name: 0 for name in inputs if f"{name}_step" in inputs}

    chain = absorb(b"assay/trace/1", state, np.array([float(v) for k, v in facts.items() if k.startswith("draw.")]))
    for row in range(table.num_rows):
        for name, rows in recorded.items():
            differs = np.flatnonzero(getattr(data, name).view("u8") != rows[row].view("u8"))
            if len(differs):
                raise ValueError(f"{name}[{differs[0]}] at physics step {row} ({column['time_s'][row]:.3f} s)")
        for name, change in following.items():
            if change < len(inputs[f"{name}_step"]) and inputs[f"{name}_step"][change] == row:
                getattr(data, name).flat[inputs[f"{name}_index"]] = inputs[name][change]
                following[name] += 1
        mujoco.mj_step(model, data)
        if hashes[row] is not None:
            mujoco.mj_getState(model, data, state, integration)
            chain = absorb(chain, state, action[row])
            if chain != hashes[row]:
                raise ValueError(f"the trace hash after control step {control_step[row]}")
    return chain.hex()


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if os.environ.get("GLIBC_TUNABLES") != TUNABLES:
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"GLIBC_TUNABLES": TUNABLES})
    try:
        print(f"the same to the bit, trace hash {replay(pathlib.Path(sys.argv[1]))}")
    except ValueError as difference:
        print(f"first difference: {difference}")
        return 1
    except (ImportError, OSError) as error:
        print(f"replay.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
