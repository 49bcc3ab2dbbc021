#!/usr/bin/env python3
"""Run the physics of a recorded episode again without assay, and compare it with the recording.

    pip install mujoco==3.17.0 numpy pyarrow
    python replay.py OUT/episodes/000 --trust-model [--robots DIR]

MuJoCo reads model.mjb in this process, and a model with a single changed byte can take the process over. So that is done
only with --trust-model, and only if the model has the digest that OUT/report.intoto.json states (or that of
--model-sha256): first see with `assay attest verify OUT` whether someone whom you trust has signed it. `assay replay OUT`
needs no trust: it builds the model from the scenario, in a jail.

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
import base64
import binascii
import hashlib
import json
import os
import pathlib
import stat
import sys

# The C library picks code by the processor; assay holds it to what every x86-64 processor has. Read at program start.
TUNABLES = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"
ROBOTS = pathlib.Path(__file__).resolve().parent.parent / "robots"
# A signal may differ by this much, relative to its size: sums in another order.
TOLERANCE = 1e-9
# MuJoCo's external inputs, and the trace's other columns.
INPUTS = ("ctrl", "qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat")
OWN = ("time_s", "qpos", "qvel", "action", "signal", "control_step", "policy_latency_ms", "trace_hash")


# What stands where nothing of it is trusted.
UNTRUSTED = """MuJoCo would read model.mjb in this process, and a changed byte in it can take the process over.
Was the report signed by someone whom you trust?  assay attest verify OUT
Then give --trust-model. Without trust:           assay replay OUT  (it builds the model itself, in a jail)"""


class Untrusted(Exception):
    """Nothing says that the model may be read."""


def plain(path: pathlib.Path) -> pathlib.Path:
    """The path of a regular file. A link may lead anywhere, and a pipe would be waited for."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        raise FileNotFoundError(f"{path} is missing") from None
    if not stat.S_ISREG(mode):
        raise OSError(f"{path} is not a regular file")
    return path


def stated_digest(out: pathlib.Path, name: str) -> str:
    """The SHA-256 of a file of evidence in the signed statement. Who signed it is not looked at."""
    try:
        envelope = json.loads(plain(out / "report.intoto.json").read_text())
        evidence = json.loads(base64.b64decode(envelope["payload"]))["predicate"]["evidence"]
        return next(file["sha256"] for file in evidence if file["name"] == name)
    except OSError as missing:
        raise Untrusted(f"no statement says which model may be read: {missing}\n{UNTRUSTED}") from None
    except (ValueError, TypeError, KeyError, StopIteration, binascii.Error, RecursionError):
        raise Untrusted(f"report.intoto.json states no digest of {name}\n{UNTRUSTED}") from None


def load_model(folder: pathlib.Path, trust_model: bool, sha256: str | None = None):
    """The episode's compiled model, if it has the digest of the statement, or the given one."""
    import mujoco

    if not trust_model and sha256 is None:
        raise Untrusted(UNTRUSTED)
    content, name = plain(folder / "model.mjb").read_bytes(), f"episodes/{folder.name}/model.mjb"
    expected = sha256 or stated_digest(folder.parent.parent, name)
    if hashlib.sha256(content).hexdigest() != expected:
        raise Untrusted(f"{name} is not the model that was signed, so it is not read\n{UNTRUSTED}")
    # The very bytes that were compared.
    return mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": content})


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

        table = pyarrow.parquet.read_table(plain(folder / "trace.parquet"))
        self.folder, self.rows = folder, table.num_rows
        self.facts = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        lacks = [name for name in ("time_s", "control_step", "trace_hash") if name not in table.column_names]
        if lacks:
            raise ValueError(f"trace.parquet has no column {lacks[0]}")
        if "mujoco" not in self.facts:
            raise ValueError("trace.parquet does not say with which mujoco it was recorded")
        self.hashes = table["trace_hash"].to_pylist()
        self.column = {name: table[name].to_numpy() for name in table.column_names if name != "trace_hash"}
        own = [name for name in table.column_names if name.split(".")[0] in OWN]
        unknown = [name for name in table.column_names if name not in own and not is_input(name)]
        if unknown:
            raise ValueError(f"trace.parquet has a column {unknown[0]}, which no trace has")
        self.signals = sorted(name.removeprefix("signal.") for name in self.column if name.startswith("signal."))
        self.actions = np.load(plain(folder / "actions.npy"))
        self.inputs = dict(np.load(plain(folder / "inputs.npz")))
        self.check_inputs()

    def check_inputs(self):
        """Every input has its steps, its indices and its values, as many as belong together."""
        for name in (n for n in INPUTS if any(key in self.inputs for key in (n, f"{n}_step", f"{n}_index"))):
            lacks = [key for key in (name, f"{name}_step", f"{name}_index") if key not in self.inputs]
            if lacks:
                raise ValueError(f"inputs.npz has no array {lacks[0]}")
            values, step, index = self.inputs[name], self.inputs[f"{name}_step"], self.inputs[f"{name}_index"]
            if values.shape != (step.size, index.size):
                raise ValueError(f"inputs.npz has {values.shape} values in {name}, not {(step.size, index.size)}")

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


def is_input(name: str) -> bool:
    """Whether a column is that of one of MuJoCo's inputs: `ctrl.0`."""
    group, _, index = name.partition(".")
    return group in INPUTS and index.isdecimal()


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


def replay(folder: pathlib.Path, robots: pathlib.Path, trust_model: bool = False, sha256: str | None = None):
    """Steps through the episode.

    Returns its hash and its signals as they follow from the physics; raises ValueError at the first difference.
    """
    import mujoco
    import numpy as np
    from signals import Signals

    recording = Recording(folder)
    if mujoco.__version__ != recording.facts["mujoco"]:
        raise SystemExit(f"recorded with mujoco {recording.facts['mujoco']}, this is {mujoco.__version__}")
    model = load_model(folder, trust_model, sha256)
    data, start = mujoco.MjData(model), mujoco.MjData(model)
    integration = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.fromfile(plain(folder / "state.bin"), "<f8")
    if state.size != mujoco.mj_stateSize(model, integration):
        raise ValueError(f"state.bin has {state.size} numbers, not {mujoco.mj_stateSize(model, integration)}")
    for name, index, _ in recording.recorded_inputs():
        if max(index) >= getattr(data, name).size:
            raise ValueError(f"{name}.{max(index)}, which the model does not have")
    for name, size in (("qpos", model.nq), ("qvel", model.nv)):
        if recording.group(name).shape[1] != size:
            raise ValueError(f"{name}, of which the model has {size}")
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
    parser.add_argument("--trust-model", action="store_true", help="read model.mjb, if it is the one that was signed")
    parser.add_argument("--model-sha256", metavar="HEX", help="read model.mjb, if it has this digest")
    arguments = parser.parse_args()
    hold_the_c_library()
    folder = arguments.folder.resolve()
    try:
        robots, trust = arguments.robots or robots_of(folder.parent.parent), arguments.trust_model
        print(f"bit-identical, trace hash {replay(folder, robots, trust, arguments.model_sha256)[0]}")
    except Untrusted as untrusted:
        print(f"replay.py: {untrusted}", file=sys.stderr)
        return 2
    except ValueError as difference:
        print(f"first difference: {difference}")
        return 1
    except (ImportError, OSError, LookupError, TypeError) as error:
        print(f"replay.py: {error!r}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
