"""Read datasets of the policy in seen.rs with the public libraries, and check every byte of them.

read_dataset.py table FOLDER             a Parquet dataset: the actions follow from the observations
read_dataset.py logs FOLDER TABLE        an MCAP dataset equals the Parquet dataset of the same episodes
read_dataset.py lerobot FOLDER TABLE     so does a LeRobot dataset
"""

import hashlib
import importlib
import json
import pathlib
import struct
import sys
import zlib

import numpy as np
import pyarrow.parquet as pq
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory

NAMES = ("joint_position", "joint_velocity", "images/front", "depth/front", "noisy", "images/large")


def unfilter(kind, line, above):
    """Undo a PNG filter of a line of RGB."""
    line, above = bytearray(line), bytes(above)
    for i, value in enumerate(line):
        left, up, corner = (line[i - 3] if i > 2 else 0), above[i], (above[i - 3] if i > 2 else 0)
        if kind == 4:
            guess = left + up - corner
            distances = abs(guess - left), abs(guess - up), abs(guess - corner)
            added = (left, up, corner)[distances.index(min(distances))]
        else:
            added = (0, left, up, (left + up) // 2)[kind]
        line[i] = (value + added) & 255
    return bytes(line)


def decode_png(data, known={}):  # noqa: B006
    """Decode an RGB PNG with 8 bits, without a library for images."""
    key = hashlib.sha256(data).digest()
    if key not in known:
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        at, chunks = 8, []
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at : at + 8])
            chunks.append((kind, data[at + 8 : at + 8 + length]))
            at += 12 + length
        width, height, depth, colour = struct.unpack(">IIBB", chunks[0][1][:10])
        assert (depth, colour) == (8, 2)
        raw = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
        rows, above = [], bytes(3 * width)
        for row in range(height):
            start = row * (3 * width + 1)
            above = unfilter(raw[start], raw[start + 1 : start + 1 + 3 * width], above)
            rows.append(above)
        known[key] = np.frombuffer(b"".join(rows), np.uint8).reshape(height, width, 3)
    return known[key]


def read_table(folder):
    path = pathlib.Path(folder) / "data.parquet"
    rows = pq.read_table(path).to_pylist()
    recorded = json.loads(pq.read_metadata(path).metadata[b"assay.recorded"])
    shapes = {array["name"]: array["shape"] for array in recorded["observation"]}
    return rows, shapes


def arrays(row, shapes):
    """The observation of a row, as the policy had it."""
    found = {}
    for name, shape in shapes.items():
        value = row[f"observation.{name}"]
        if name.startswith("images/"):
            found[name] = decode_png(value)
        elif name.startswith("depth/"):
            found[name] = np.frombuffer(value, "<f4").reshape(shape)
        else:
            found[name] = np.array(value).reshape(shape)
    return found


def answer(observation):
    digest = hashlib.sha256()
    for name in NAMES:
        digest.update(np.ascontiguousarray(observation[name]).tobytes())
    return 48.0 * int.from_bytes(digest.digest()[:6], "little") / 2**48 - 24.0


def table(folder):
    rows, shapes = read_table(folder)
    clipped = 0
    for row in rows:
        assert row["action"] == [answer(arrays(row, shapes))], (row["episode_index"], row["frame_index"])
        clipped += abs(row["action"][0]) > 12
        assert abs(row["timestamp"] - 0.02 * row["frame_index"]) < 1e-9
        assert abs(row["timestamp"] + row["time_remaining"] - 2) < 1e-9
    assert clipped > len(rows) / 4, "actions are those before clipping"
    return {"rows": len(rows), "episodes": sorted({row["episode_index"] for row in rows}), "columns": list(rows[0])}


def logs(folder, other):
    rows, shapes = read_table(other)
    counts = {}
    for episode in sorted({row["episode_index"] for row in rows}):
        mine = [row for row in rows if row["episode_index"] == episode]
        last, steps = {}, []
        with open(pathlib.Path(folder) / f"episodes/{episode:03}.mcap", "rb") as file:
            reader = make_reader(file, decoder_factories=[DecoderFactory()])
            for schema, channel, message in reader.iter_messages():
                counts[channel.topic] = counts.get(channel.topic, 0) + 1
                if schema.name == "assay.Numbers":
                    content = json.loads(message.data)
                    value = np.array(content["values"], float).reshape(content["shape"])
                else:
                    kind = schema.name.removeprefix("foxglove.")
                    proto = getattr(importlib.import_module(f"foxglove_schemas_protobuf.{kind}_pb2"), kind)()
                    proto.ParseFromString(message.data)
                    if kind == "CompressedImage":
                        assert proto.format == "png"
                        value = decode_png(proto.data)
                    else:
                        assert (proto.encoding, proto.step) == ("32FC1", 4 * proto.width)
                        value = np.frombuffer(proto.data, "<f4").reshape(proto.height, proto.width)
                last[channel.topic] = value
                if channel.topic == "/action":
                    steps.append((message.log_time, dict(last)))
            metadata = next(iter(reader.iter_metadata())).metadata
        assert metadata["episode"] == str(episode) and metadata["success"] == str(mine[0]["success"]).lower()
        assert len(steps) == len(mine)
        for row, (time, values) in zip(mine, steps, strict=True):
            assert time == round(1e9 * row["timestamp"])
            assert values["/action"].tolist() == row["action"]
            for name, array in arrays(row, shapes).items():
                assert np.array_equal(values[f"/observation/{name}"], array), (name, row["frame_index"])
    return {"messages": counts}


def lerobot(folder, other):
    rows, shapes = read_table(other)
    folder = pathlib.Path(folder)
    info = json.loads((folder / "meta/info.json").read_text())
    stats = json.loads((folder / "meta/stats.json").read_text())
    episodes = pq.read_table(folder / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    tasks = pq.read_table(folder / "meta/tasks.parquet")
    files = sorted((folder / "data").glob("*/*.parquet"))
    frames = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert (info["codebase_version"], info["fps"], info["total_frames"]) == ("v3.0", 50, len(rows))
    assert info["splits"] == {"train": f"0:{len(episodes)}"} and info["total_episodes"] == len(episodes)
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["__index_level_0__"]
    vectors = [name for name in shapes if "/" not in name and name != "last_action"]
    state = info["features"]["observation.state"]
    assert state["shape"] == [sum(shapes[name][0] for name in vectors)] and len(state["names"]) == state["shape"][0]
    assert info["features"]["observation.images.large"]["shape"] == [480, 640, 3]
    assert set(frames[0]) == set(info["features"]) and set(stats) == set(info["features"])
    assert len(frames) == len(rows)
    for index, (frame, row) in enumerate(zip(frames, rows, strict=True)):
        observation = arrays(row, shapes)
        expected = np.concatenate([observation[name] for name in vectors]).astype(np.float32)
        assert np.array_equal(np.array(frame["observation.state"], np.float32), expected), index
        assert np.float32(frame["action"]) == np.float32(row["action"][0]), index
        assert (frame["index"], frame["frame_index"], frame["task_index"]) == (index, row["frame_index"], 0)
        assert np.float32(frame["timestamp"]) == np.float32(row["frame_index"] / 50)
        for name in ("front", "large"):
            png = frame[f"observation.images.{name}"]
            assert png["path"] is None and np.array_equal(decode_png(png["bytes"]), observation[f"images/{name}"])
    for number, episode in enumerate(episodes):
        mine = [frame for frame in frames if frame["episode_index"] == number]
        assert [frame["index"] for frame in mine] == list(
            range(episode["dataset_from_index"], episode["dataset_to_index"])
        )
        assert (episode["length"], episode["tasks"]) == (len(mine), [tasks.to_pylist()[0]["__index_level_0__"]])
        assert (episode["data/chunk_index"], episode["data/file_index"]) == (0, 0)
    values = np.array([frame["observation.state"] for frame in frames])
    for key, found in [
        ("mean", values.mean(0)),
        ("std", values.std(0)),
        ("min", values.min(0)),
        ("max", values.max(0)),
    ]:
        assert np.allclose(stats["observation.state"][key], found, atol=1e-5), key
    assert np.allclose(stats["observation.state"]["q50"], np.quantile(values, 0.5, axis=0), atol=1e-5)
    pixels = np.stack([decode_png(frame["observation.images.large"]["bytes"]) for frame in frames[::10]]) / 255
    colours = stats["observation.images.large"]
    assert np.shape(colours["mean"]) == (3, 1, 1)
    assert np.allclose(np.ravel(colours["mean"]), pixels.mean((0, 1, 2)), atol=0.02)
    return {"frames": len(frames), "features": sorted(info["features"]), "task": episodes[0]["tasks"]}


print(json.dumps({"table": table, "logs": logs, "lerobot": lerobot}[sys.argv[1]](*sys.argv[2:])))
