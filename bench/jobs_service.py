"""Shared code of the two services of the comparison: the shape of a job, the checks of an archive, keys and settings.

They do the same as `assay serve` for the same three requests: a key is checked and counted; an archive is unpacked to
check that it contains a policy, hashed and stored durably; and a job is a row with shards. They do not evaluate jobs,
and omit what is most expensive in assay: caps of accounts, events, and the position in the queue, which is always 1
here.
"""

import hashlib
import io
import os
import socket
import time
import uuid
import zipfile
from datetime import UTC, datetime
from pathlib import Path

SCENARIOS = {"cartpole_keepin": ("1.0.0", "9f" * 32)}
RATE_PER_MINUTE = 4_000_000_000
SCHEMA = """
CREATE TABLE keys (id TEXT PRIMARY KEY, account TEXT NOT NULL, secret_hash TEXT NOT NULL);
CREATE TABLE jobs (job_id TEXT PRIMARY KEY, account TEXT NOT NULL, scenario TEXT NOT NULL, status TEXT NOT NULL,
                   header TEXT NOT NULL, policy_path TEXT NOT NULL, num_episodes INTEGER NOT NULL,
                   episodes_done INTEGER NOT NULL, created_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX jobs_by_account ON jobs (account, job_id);
CREATE TABLE shards (job_id TEXT NOT NULL, shard INTEGER NOT NULL, first_episode INTEGER NOT NULL,
                     end_episode INTEGER NOT NULL, state TEXT NOT NULL, PRIMARY KEY (job_id, shard)) WITHOUT ROWID;
"""
PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
ABSENT = (
    "verdict", "score", "composite_score", "progress_score", "safety_score", "consistency", "success_rate",
    "vlm_agreement", "review", "blame", "reason", "error_message", "statistics", "unsafe_success_share",
    "violation_severity", "quadrants", "unsafe_time_s", "fingerprint", "eta_s", "started_at", "completed_at",
    "video_url", "report_url", "attestation_url", "erased_at", "evidence_removed_at",
)


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.body = status, {"data": None, "error": {"code": code, "message": message}}


def digest_of(authorization):
    """Returns the id and the hash of a bearer key."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or token.count("_") != 2:
        raise Refused(401, "UNAUTHORIZED", "an API key is needed")
    return token.split("_")[1], hashlib.sha256(token.encode()).hexdigest()


class Rates:
    """Numbers of requests of each key in windows of a minute."""

    def __init__(self):
        self.window, self.counts = 0, {}

    def admit(self, key):
        """Counts a request; returns the rate limit headers."""
        window = int(time.time()) // 60
        if window != self.window:
            self.window, self.counts = window, {}
        count = self.counts[key] = self.counts.get(key, 0) + 1
        if count > RATE_PER_MINUTE:
            raise Refused(429, "RATE_LIMITED", "the key's limit is used up")
        return {
            "x-ratelimit-limit": str(RATE_PER_MINUTE), "x-ratelimit-remaining": str(RATE_PER_MINUTE - count),
            "x-ratelimit-reset": str((window + 1) * 60),
        }


def checked(data):
    """Unpacks the archive in memory with the service's limits; raises an error if it has no policy."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > 512 or sum(entry.file_size for entry in entries) > 512 << 20:
            raise Refused(413, "PAYLOAD_TOO_LARGE", "the archive is too large")
        if "policy.py" not in archive.namelist():
            raise Refused(400, "VALIDATION_ERROR", "the archive has no policy.py")
        for entry in entries:
            archive.read(entry)


def keep(folder, data):
    """Writes the archive durably under its hash."""
    digest = hashlib.sha256(data).hexdigest()
    path, partial = folder / digest, folder / f"{uuid.uuid4().hex}.partial"
    with open(partial, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(partial, path)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return digest


def header(scenario, num_episodes, digest):
    """Returns the header of a new job."""
    if scenario not in SCENARIOS:
        raise Refused(400, "VALIDATION_ERROR", "there is no such scenario")
    version, scenario_digest = SCENARIOS[scenario]
    return {
        "job_id": new_id(), "scenario": scenario, "scenario_version": version, "scenario_digest": scenario_digest,
        "policy_name": "policy", "policy_sha256": digest, "policy_identity": "measured", "num_episodes": num_episodes,
        "seed": 0, "mode": "verify", "warnings": [],
        "created_at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }


def job(header, status, episodes_done):
    """Returns a job as a client receives it."""
    shown = dict.fromkeys(ABSENT) | header
    shown |= {
        "status": status, "needs_review": False, "review_reasons": [], "queue_position": 1,
        "waiting_for": "a free lane", "episode_details": [],
        "progress": {"episodes_done": episodes_done, "episodes_total": header["num_episodes"], "stage": "queued"},
    }
    return shown


def new_id():
    """Returns a UUIDv7."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return str(uuid.UUID(int=number & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62))


def serve(application, folder, key):
    """Runs the application on a free port, which it prints, with its access log in the folder."""
    import logging

    import uvicorn

    logging.basicConfig(filename=Path(folder) / "log", level=logging.INFO)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(application, log_config=None)).run(sockets=[listener])
