"""Forges FOLDER/trace.parquet so that it stays consistent in itself, and prints its trace hash.

    forge_trace.py FOLDER action|signal|state|world|unstable

`action`: another action in a control step, and the chain of hashes over the recorded states and that action. `signal`: a
harmless value of a signal in one row. `state`: another position in one row. `world`: the trace is that of another episode, and
gets the facts of FOLDER/own.parquet. `unstable`: it ends in the middle of a control step.
"""

import hashlib
import pathlib
import sys

import mujoco
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
table = pq.read_table(folder / "trace.parquet")
facts = dict(table.schema.metadata)


def change(name, change):
    """Changes a column; `change` gets its values as a copy."""
    global table
    index = table.column_names.index(name)
    values = table[name].to_numpy().copy()
    change(values)
    table = table.set_column(index, table.schema.field(index), pa.array(values))


def add(row, amount):
    """Returns a change of one row."""

    def change(values):
        values[row] += amount

    return change


def chain():
    """Returns the chain of hashes over the real states and the recorded actions, with None between control steps."""
    absorb = lambda start, *arrays: hashlib.sha256(
        start + b"".join(len(a).to_bytes(8, "little") + np.asarray(a, "<f8").tobytes() for a in arrays)
    ).digest()
    model = mujoco.MjModel.from_binary_path(str(folder / "model.mjb"))
    data, integration = mujoco.MjData(model), mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.fromfile(folder / "state.bin", "<f8")
    mujoco.mj_setState(model, data, state, integration)
    draws = [float(value) for key, value in facts.items() if key.startswith(b"draw.")]
    link, hashes = absorb(b"assay/trace/1", state, draws), []
    force, action = table["ctrl.0"].to_numpy(), table["action.0"].to_numpy()
    for row, recorded in enumerate(table["trace_hash"].to_pylist()):
        data.ctrl[0] = force[row]
        mujoco.mj_step(model, data)
        if recorded is not None:
            mujoco.mj_getState(model, data, state, integration)
            link = absorb(link, state, action[row : row + 1])
        hashes.append(link if recorded is not None else None)
    return hashes


if kind == "action":
    in_step = table["control_step"].to_numpy() == 5

    def push(action):
        action[in_step] = 0.25

    change("action.0", push)
    index = table.column_names.index("trace_hash")
    table = table.set_column(index, table.schema.field(index), pa.array(chain(), pa.binary(32)))
elif kind == "signal":
    change("signal.cart_position", add(1000, 1e-9))
elif kind == "state":
    change("qpos.0", add(1000, 1e-9))
elif kind == "world":
    facts = dict(pq.read_schema(folder / "own.parquet").metadata)
elif kind == "unstable":
    table = table.slice(0, 1003)
else:
    raise SystemExit(__doc__)

# The reader of traces knows neither dictionaries nor Snappy.
options = {"compression": "NONE", "use_dictionary": False, "write_statistics": False, "store_schema": False}
forged = table.replace_schema_metadata(None)
with pq.ParquetWriter(folder / "trace.parquet", forged.schema, **options) as writer:
    writer.write_table(forged)
    # Nothing but the facts, as in a real trace.
    writer.add_key_value_metadata({key: value for key, value in facts.items() if key != b"ARROW:schema"})
print(next(link for link in reversed(table["trace_hash"].to_pylist()) if link).hex())
