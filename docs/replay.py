#!/usr/bin/env python3
"""Run the physics of a recorded episode again without assay, and compare it with the recording.

    pip install mujoco==3.17.0 numpy pyarrow
    python replay.py OUT/episodes/000 [--robots DIR]

Takes model.mjb, state.bin and inputs.npz, steps MuJoCo, and compares every row of trace.parquet: time, positions,
velocities and inputs to the bit, and the chain of hashes whose last value is the report's `trace_hash`. Every signal is
computed again from the model and its state (signals.py, for the scenario in OUT/scenario), and must be the recorded one but
for rounding. Actions must be those of actions.npy, within the scenario's bounds, one per control step; where a scenario
passes them on to actuators as they are, the inputs must be theirs. Robots' limits come from their data sheets
(DIR/MODEL/robot.toml; default: OUT/robots, and where a report has none the folder `robots` beside that of this program).

Exit code 0: the same; 1: the first difference is named; 2: something is missing. Read it before you trust it; it uses
nothing of ours.
"""

import argparse
import hashlib
import os
import pathlib
import sys

# The C library picks code by the processor; assay holds it to what every x86-64 processor has. Read at program start.
TUNABLES = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"
ROBOTS = pathlib.Path(__file__).resolve().parent.parent / "robots"
# A signal may differ by this much, relative to its size: sums in another order.
TOLERANCE = 1e-9
# MuJoCo's external inputs, and the trace's other columns.
INPUTS = ("ctrl", "qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat")
OWN = ("time_s", "qpos", "qvel", "action", "signal", "control_step", "policy_latency_ms", "trace_hash")


def absorb(start: bytes, *arrays) -> bytes:
    """SHA-256 over `start` and each array's length and doubles, little-endian."""
    digest = hashlib.sha256(start)
    for array in arrays:
        digest.update(len(array).to_bytes(8, "little"))
        digest.update(array.astype("<f8").tobytes())
    return digest.digest()


class Recording:
    """An episode's folder: trace, actions and inputs."""

    def __init__(self, folder: pathlib.Path):
        import numpy as np
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(folder / "trace.parquet")
        self.folder, self.rows = folder, table.num_rows
        self.facts = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
        self.hashes = table["trace_hash"].to_pylist()
        self.column = {name: table[name].to_numpy() for name in table.column_names if name != "trace_hash"}
        unknown = [name for name in table.column_names if name.split(".")[0] not in OWN + INPUTS]
        if unknown:
            raise ValueError(f"trace.parquet has a column {unknown[0]}, which no trace has")
        self.signals = sorted(name.removeprefix("signal.") for name in self.column if name.startswith("signal."))
        self.actions = np.load(folder / "actions.npy")
        self.inputs = dict(np.load(folder / "inputs.npz"))

    def group(self, name: str):
        """The columns NAME.0, NAME.1, ... side by side."""
        import numpy as np

        columns = [self.column[f"{name}.{i}"] for i in range(sum(c.startswith(f"{name}.") for c in self.column))]
        return np.stack(columns, 1) if columns else np.empty((self.rows, 0))

    def recorded_inputs(self):
        """For each of MuJoCo's input arrays in the trace: flat indices, and values by row."""
        import numpy as np

        for name in INPUTS:
            index = sorted(int(c.split(".")[1]) for c in self.column if c.startswith(f"{name}."))
            if index:
                yield name, index, np.stack([self.column[f"{name}.{i}"] for i in index], 1)


def bits(array):
    import numpy as np

    return np.ascontiguousarray(array, "<f8").view("<u8")


def check_actions(recording: Recording, scenario: dict) -> None:
    """One action per control step, within bounds, as in actions.npy, and in the inputs where they are the same thing."""
    import numpy as np

    control, action, step = scenario["control"], recording.group("action"), recording.column["control_step"]
    first = np.flatnonzero(np.diff(step, prepend=-1))
    length = round(1.0 / (scenario["world"]["timestep_s"] * scenario["world"]["control_hz"]))
    if not (step == np.arange(recording.rows) // length).all():
        raise ValueError(f"control_step, which should grow by one every {length} physics steps")
    same = action.shape == action[first][step].shape and (bits(action) == bits(action[first][step])).all()
    if not same or action.shape[1] != len(control["action"]):
        raise ValueError("action, which should be one per control step")
    if recording.actions.shape != action[first].shape or (bits(recording.actions) != bits(action[first])).any():
        raise ValueError("actions.npy, which should hold the actions of the trace")
    low, high = (np.array([float(a[side]) for a in control["action"]]) for side in ("low", "high"))
    if recording.rows and not ((low <= action) & (action <= high)).all():
        raise ValueError("action, which is outside of the scenario's bounds")


def check_controls(recording: Recording, scenario: dict, model) -> None:
    """Where actions are written to actuators as they are (modes `actuator`, `joint_torque`), `ctrl` follows from them."""
    control, action, step = scenario["control"], recording.group("action"), recording.column["control_step"]
    if control["mode"] == "actuator":
        actuators = [model.actuator(name).id for name in control["actuators"]]
    elif control["mode"] == "joint_torque":
        prefix = f"{control['robot']}/"
        joints = [i for i in range(model.nu) if model.actuator(i).name.startswith(prefix)]
        actuators = joints[: action.shape[1] - 1]
    else:
        return
    late = step - control.get("action_latency_steps", 0)
    for number, actuator in enumerate(actuators):
        rows = late >= 0
        values = recording.actions[late[rows], number]
        if (bits(recording.column[f"ctrl.{actuator}"][rows]) != bits(values)).any():
            raise ValueError(f"ctrl.{actuator}, which should be action.{number}")


def compare_signals(recording: Recording, values: dict, row: int, computed: dict) -> None:
    """Each recorded signal of the row with what the model and its state give."""
    if sorted(values) != recording.signals:
        raise ValueError(f"the signals: the scenario has {sorted(values)}, the trace {recording.signals}")
    for name, value in values.items():
        recorded = recording.column[f"signal.{name}"][row]
        computed[name][row] = value
        if not abs(recorded - value) <= TOLERANCE * max(1.0, abs(value)):
            time_s = recording.column["time_s"][row]
            raise ValueError(f"signal.{name} at physics step {row} ({time_s:.3f} s): {recorded}, not {value}")


def compare_state(recording: Recording, recorded: dict, data, row: int) -> None:
    """The state before the step and the inputs to it, to the bit."""
    import numpy as np

    for name, (index, rows) in recorded.items():
        now = np.atleast_1d(getattr(data, name)).flat[index]
        differs = np.flatnonzero(bits(now) != bits(rows[row]))
        if len(differs):
            raise ValueError(f"{name}[{index[differs[0]]}] at physics step {row} ({recording.column['time_s'][row]:.3f} s)")


def robots_of(out: pathlib.Path) -> pathlib.Path:
    """The robots that a report was made with; those of this release for a report of a release that kept none."""
    kept = out / "robots"
    return kept if kept.is_dir() else ROBOTS


def replay(folder: pathlib.Path, robots: pathlib.Path):
    """Steps through the episode.

    Returns its hash and its signals as they follow from the physics; raises ValueError at the first difference.
    """
    import mujoco
    import numpy as np
    from signals import Signals

    recording = Recording(folder)
    if mujoco.__version__ != recording.facts["mujoco"]:
        raise SystemExit(f"recorded with mujoco {recording.facts['mujoco']}, this is {mujoco.__version__}")
    model = mujoco.MjModel.from_binary_path(str(folder / "model.mjb"))
    data, start = mujoco.MjData(model), mujoco.MjData(model)
    integration = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.fromfile(folder / "state.bin", "<f8")
    for each in (data, start):
        mujoco.mj_setState(model, each, state, integration)
    mujoco.mj_forward(model, start)
    signals = Signals(model, folder.parent.parent / "scenario", robots)
    signals.measure(start, start.qpos, start.qvel, 0.0, np.zeros(len(signals.scenario["control"]["action"])))  # what remembers where it began
    check_actions(recording, signals.scenario)
    check_controls(recording, signals.scenario, model)

    inputs, following = recording.inputs, {n: 0 for n in recording.inputs if f"{n}_step" in recording.inputs}
    groups = {name: recording.group(name) for name in ("qpos", "qvel")}
    states = {name: (list(range(rows.shape[1])), rows) for name, rows in groups.items()}
    states["time"] = ([0], recording.column["time_s"].reshape(-1, 1))
    acting = {name: (index, rows) for name, index, rows in recording.recorded_inputs()}
    if sorted(following) != sorted(acting) or any(list(inputs[f"{n}_index"]) != acting[n][0] for n in following):
        raise ValueError("inputs.npz, which should hold the inputs of the trace")
    computed = {name: np.empty(recording.rows) for name in recording.signals}
    action, control_step = recording.group("action"), recording.column["control_step"]
    draws = [float(v) for k, v in recording.facts.items() if k.startswith("draw.")]
    chain = absorb(b"assay/trace/1", state, np.array(draws))
    for row in range(recording.rows):
        compare_state(recording, states, data, row)
        for name, change in following.items():
            if change < len(inputs[f"{name}_step"]) and inputs[f"{name}_step"][change] == row:
                getattr(data, name).flat[inputs[f"{name}_index"]] = inputs[name][change]
                following[name] += 1
        compare_state(recording, acting, data, row)
        qpos, qvel, time_s = data.qpos.copy(), data.qvel.copy(), data.time
        mujoco.mj_step(model, data)
        compare_signals(recording, signals.measure(data, qpos, qvel, time_s, action[row]), row, computed)
        last = row + 1 == recording.rows or control_step[row + 1] != control_step[row]
        if recording.hashes[row] is not None:
            mujoco.mj_getState(model, data, state, integration)
            chain = absorb(chain, state, action[row])
            if chain != recording.hashes[row]:
                raise ValueError(f"the trace hash after control step {control_step[row]}")
        elif last and row + 1 < recording.rows:
            raise ValueError(f"the trace hash after control step {control_step[row]}, which is missing")
    return chain.hex(), computed


def hold_the_c_library() -> None:
    """Starts this program again where the C library would calculate by the processor."""
    if os.environ.get("GLIBC_TUNABLES") != TUNABLES:
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"GLIBC_TUNABLES": TUNABLES})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--robots", type=pathlib.Path)
    arguments = parser.parse_args()
    hold_the_c_library()
    folder = arguments.folder.resolve()
    try:
        print(f"bit-identical, trace hash {replay(folder, arguments.robots or robots_of(folder.parent.parent))[0]}")
    except ValueError as difference:
        print(f"first difference: {difference}")
        return 1
    except (ImportError, OSError, KeyError) as error:
        print(f"replay.py: {error!r}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
