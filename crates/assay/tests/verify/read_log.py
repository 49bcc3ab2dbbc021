"""Read an episode's log.mcap and images.mcap with the public readers and Foxglove's published schemas, and compare it with the trace.

Usage: read_log.py EPISODE_FOLDER; prints a JSON summary, or fails with the first thing that is wrong.
"""

import hashlib
import importlib
import json
import pathlib
import subprocess
import sys

import numpy as np
import pyarrow.parquet
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory

folder = pathlib.Path(sys.argv[1])
table = pyarrow.parquet.read_table(folder / "trace.parquet")
steps = table["control_step"].to_numpy()
first = np.flatnonzero(np.diff(steps, prepend=-1))
last = np.append(first[1:] - 1, len(steps) - 1)
time_ns = np.round(table["time_s"].to_numpy() * 1e9 / 100) * 100


def published(schema_name: str):
    """Foxglove's own class for a schema of theirs."""
    name = schema_name.removeprefix("foxglove.")
    return getattr(importlib.import_module(f"foxglove_schemas_protobuf.{name}_pb2"), name)


topics, messages, about = {}, {}, {}
attachments, metadata, chunks = {}, {}, []
# The images lie beside the log, as a viewer opens them.
for name in ("log.mcap", "images.mcap"):
    if name == "images.mcap" and not (folder / name).exists():
        continue
    with open(folder / name, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()], validate_crcs=True)
        chunks += reader.get_summary().chunk_indexes
        for schema, channel, message, decoded in reader.iter_decoded_messages(log_time_order=False):
            assert schema.encoding == channel.message_encoding == "protobuf", channel.topic
            if schema.name.startswith("foxglove."):
                theirs = published(schema.name).FromString(message.data)
                assert theirs.SerializeToString(deterministic=True) == decoded.SerializeToString(deterministic=True)
            else:
                assert schema.name.startswith("assay."), schema.name
            is_image = channel.topic == "/camera" or channel.topic.startswith("/images/")
            assert is_image == (name == "images.mcap"), f"{channel.topic} stands in {name}"
            topics.setdefault(channel.topic, schema.name)
            about.setdefault(channel.topic, channel.metadata)
            messages.setdefault(channel.topic, []).append((message.log_time, decoded))
        attachments |= {a.name: json.loads(a.data) for a in reader.iter_attachments()}
        metadata |= {m.name: m.metadata for m in reader.iter_metadata()}

assert all(chunk.compression == "zstd" for chunk in chunks)
for topic, found in messages.items():
    times = [time for time, _ in found]
    assert times == sorted(times), topic
    if topic not in ("/log", "/tf"):
        assert len(set(times)) == len(times), f"{topic} has two messages at one time"


def times_are(topic: str, rows) -> None:
    assert [time for time, _ in messages[topic]] == time_ns[rows].astype(int).tolist(), topic


for topic in ("/action", "/joints", "/policy/latency"):
    times_are(topic, first)
for topic in topics:
    if topic.startswith(("/signals/", "/clauses/")) or topic == "/contacts":
        times_are(topic, last)
    if topic.startswith("/signals/"):
        column = table[f"signal.{topic.removeprefix('/signals/')}"].to_numpy()
        assert [m.value for _, m in messages[topic]] == column[last].tolist(), topic
        assert max(m.greatest for _, m in messages[topic]) == column.max(), topic
assert messages["/tf"][0][0] == messages["/scene"][0][0] == 0
assert [t for t, _ in messages["/tf"][1:]] == time_ns[first].astype(int).tolist()
action = np.stack([table[name].to_numpy()[first] for name in table.column_names if name.startswith("action.")], 1)
assert np.array_equal(np.array([m.values for _, m in messages["/action"]]), action)
latency = [x for x in table["policy_latency_ms"].to_pylist() if x is not None]
assert [m.latency_ms for _, m in messages["/policy/latency"]] == latency
frames = {t.child_frame_id for _, m in messages["/tf"] for t in m.transforms} | {"world"}
entities = messages["/scene"][0][1].entities
assert all(entity.frame_id in frames for entity in entities), "a shape in a frame without a transform"
if "/camera" in messages:
    stream = b"".join(m.data for _, m in messages["/camera"])
    count = ["-f", "h264", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", "-i", "-"]
    probed = subprocess.run(["ffprobe", "-v", "error", *count], input=stream, capture_output=True, check=True)
    assert int(probed.stdout) == len(messages["/camera"]) and not probed.stderr, probed


def pixels(png: bytes) -> bytes:
    """The picture as RGB rows from the top, by somebody else's decoder."""
    command = ["ffmpeg", "-v", "error", "-f", "png_pipe", "-i", "-", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    return subprocess.run(command, input=png, capture_output=True, check=True).stdout


images = {}
for topic in topics:
    if topic.startswith("/images/"):
        assert {m.format for _, m in messages[topic]} == {"png"}, topic
        last_image = pixels(messages[topic][-1][1].data)
        assert last_image, topic
        images[topic] = {
            "frame": messages[topic][0][1].frame_id,
            "times_s": [time / 1e9 for time, _ in messages[topic]],
            "bytes": len(last_image),
            "last_sha256": hashlib.sha256(last_image).hexdigest(),
        }
result = attachments["episode.json"]
for clause in result["clauses"]:
    found = [m for _, m in messages[f"/clauses/{clause['id']}"]]
    assert found[-1].robustness_upper == min(m.robustness_upper for m in found)
    if clause["robustness"] is not None and clause["status"] != "undetermined":
        assert found[-1].robustness_upper == clause["robustness"], clause["id"]
assert metadata["assay"]["policy_seed"] == str(result["seed"])
print(
    json.dumps(
        {
            "topics": topics,
            "about": about,
            "control_steps": len(first),
            "frames": len(messages.get("/camera", [])),
            "log": [m.message for _, m in messages["/log"]],
            "images": images,
            "entities": len(entities),
            "contacts": sum(len(m.contacts) for _, m in messages["/contacts"]),
            "facts": metadata["assay"],
        }
    )
)
