"""Forges the evidence of a report of one episode, in OUT, so that everything but the physics still fits together.

    forge.py OUT signal|action|input|limit

`signal`: the recording says that the cart left its zone, and the report that this is UNSAFE. `action`: another action, in the
recording, in actions.npy and in the chain of hashes. `input`: another force, in the recording only. `limit`: a wider zone in
the scenario. Hashes in the report are those of the forged files.
"""

import hashlib
import json
import pathlib
import sys

import mujoco
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

out, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
folder = out / "episodes/000"
report = json.loads((out / "report.json").read_text())
episode = report["episode_details"][0]
table = pq.read_table(folder / "trace.parquet")
facts = table.schema.metadata


def change(name, change):
    """Changes a column; `change` gets its values as a copy."""
    global table
    index = table.column_names.index(name)
    values = table[name].to_numpy().copy()
    change(values)
    # Appended and put back, so that the other columns keep their types.
    table = table.set_column(index, table.schema.field(index), pa.array(values))


def chain():
    """The chain of hashes over the real states and the forged actions."""
    absorb = lambda start, *arrays: hashlib.sha256(
        start + b"".join(len(a).to_bytes(8, "little") + np.asarray(a, "<f8").tobytes() for a in arrays)
    ).digest()
    model = mujoco.MjModel.from_binary_path(str(folder / "model.mjb"))
    data, integration = mujoco.MjData(model), mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.fromfile(folder / "state.bin", "<f8")
    mujoco.mj_setState(model, data, state, integration)
    draws = [float(v) for k, v in facts.items() if k.startswith(b"draw.")]
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


if kind == "signal":

    def leave(position):
        position[1000:1010] = 1.5

    change("signal.cart_position", leave)
    clause = next(c for c in episode["clauses"] if c["id"] == "keep_in")
    clause |= {"status": "violated", "robustness": -0.5, "worst_value": 1.5}
    for scored in (episode, report):
        scored |= {"safety_score": 0.0, "composite_score": 0.0}
    report |= {"verdict": "UNSAFE", "score": 0.1 + 0.1 * report["success_rate"], "consistency": 1.0}
    report["statistics"] |= {"violations": 1, "violation_probability_upper": 1.0, "confidence": 0.0}
elif kind == "action":
    steps = table["control_step"].to_numpy()
    actions = np.load(folder / "actions.npy")
    actions[5, 0] = 0.25
    np.save(folder / "actions.npy", actions)

    def push(action):
        action[steps == 5] = 0.25

    change("action.0", push)
    links = chain()
    index = table.column_names.index("trace_hash")
    table = table.set_column(index, table.schema.field(index), pa.array(links, pa.binary(32)))
    episode["trace_hash"] = next(link for link in reversed(links) if link).hex()
elif kind == "input":

    def weaker(force):
        force[500] = 0.0

    change("ctrl.0", weaker)
elif kind == "limit":
    path = out / "scenario/scenario.toml"
    path.write_text(path.read_text().replace("limit = 1.0", "limit = 9.0", 1))
else:
    raise SystemExit(__doc__)

pq.write_table(table.replace_schema_metadata(facts), folder / "trace.parquet")
for file in episode["evidence"]:
    content = (out / file["name"]).read_bytes()
    file |= {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
(out / "report.json").write_text(json.dumps(report))
