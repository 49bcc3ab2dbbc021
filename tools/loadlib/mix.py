"""The operations of the load, and their average intervals."""

import contextlib
import dataclasses
import json
import random
import socket
import threading
import time
from collections.abc import Callable

from loadlib import policies
from loadlib.ledger import Ledger
from testlib.service import BOUNDARY, Client, form

STREAM_LIMIT_S = 300
CANCEL_AFTER_S = 1.5
RANGE_BYTES = 4096
# Refusals with Retry-After, which are not faults: an account has one preflight or publication at a time.
BUSY = 429


@dataclasses.dataclass
class World:
    """The context of operations: clients of several accounts, the ledger, and a random generator."""

    clients: list[Client]
    admin: Client
    ledger: Ledger
    season: str  # the scenario of the open season
    dice: random.Random = dataclasses.field(default_factory=lambda: random.Random(15))
    published: list = dataclasses.field(default_factory=list)  # client and id
    versions: int = 0
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    # An instance runs one replay and two preflights at a time, and answers 503 to more.
    replaying: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    preflights: threading.Semaphore = dataclasses.field(default_factory=lambda: threading.Semaphore(2))

    def client(self) -> Client:
        """Returns the client of a random account."""
        return self.dice.choice(self.clients)

    def ended_job(self) -> tuple[Client, str] | None:
        """Returns a job that ended a short time ago."""
        with self.ledger.lock:
            return self.dice.choice(self.ledger.ended) if self.ledger.ended else None


def verify(world: World) -> None:
    """Uploads a policy, and follows the job until it has ended."""
    name = world.dice.choices(("reference", "reckless", "idle", "short"), (4, 4, 1, 2))[0]
    parts = {"scenario": policies.SCENARIO, "num_episodes": world.dice.randint(1, 3)}
    # Occasionally a video of half a second; a full one would take most of the machine.
    parts["record"] = "all" if name == "short" and world.dice.random() < 0.15 else "none"
    parts["num_episodes"] = 1 if parts["record"] == "all" else parts["num_episodes"]
    client = world.client()
    answer = client.upload("/verify", policies.policy(name, world.dice), parts)
    if world.ledger.answered("verify", answer, (201,)).status == 201:
        job = answer.json()["job_id"]
        world.ledger.accepted(job, name)
        follow(world, client, job)


def follow(world: World, client: Client, job: str) -> None:
    """Reads a job's events until it has ended."""
    connection, stream = client.open("GET", f"/verify/{job}/events", headers={"accept": "text/event-stream"})
    with contextlib.closing(connection):
        if stream.status != 200:
            world.ledger.fault(f"events: {stream.status}")
            return
        world.ledger.answers["events", 200] += 1
        until, last = time.monotonic() + STREAM_LIMIT_S, {}
        for line in stream:
            if line.startswith(b"data: "):
                last = json.loads(line[6:])
            if last.get("done") or time.monotonic() > until:
                break
    if not last.get("done"):
        world.ledger.fault(f"the stream of {job} ended without a final event: {last}")
    elif last["status"] == "COMPLETED":
        with world.ledger.lock:
            world.ledger.ended.append((client, job))


def leave_early(world: World) -> None:
    """Opens an event stream and disconnects after its first line."""
    found = world.ended_job()
    if found:
        connection, stream = found[0].open("GET", f"/verify/{found[1]}/events", headers={"last-event-id": "0"})
        stream.fp.readline()
        connection.close()


def preflight(world: World) -> None:
    """Runs a preflight of a policy."""
    zipped = policies.policy("reference", world.dice)
    with world.preflights:
        answer = world.client().upload("/preflight", zipped, {"scenario": policies.SCENARIO})
    world.ledger.answered("preflight", answer, (200, BUSY))


def submit(world: World) -> None:
    """Submits to the season, which may be closing (409)."""
    name = world.dice.choice(("reference", "reckless", "idle"))
    parts = {"scenario_id": world.season, "name": f"entry {world.dice.randrange(100)}"}
    answer = world.client().upload("/submissions", policies.policy(name, world.dice), parts)
    if world.ledger.answered("submit", answer, (201, 409)).status == 201:
        world.ledger.accepted(answer.json()["submission_id"], name)


def publish(world: World) -> None:
    """Publishes a scenario, or another version of one."""
    with world.lock:
        world.versions += 1
        name, version = f"pole_{world.versions % 5}", f"1.{world.versions}.0"
    client = world.clients[world.versions % len(world.clients)]
    answer = client.upload("/community/scenarios", policies.scenario(name, version), {"tags": "load"}, "scenario")
    # 409: it was deleted, and its name is reserved.
    if world.ledger.answered("publish", answer, (201, 409, BUSY)).status == 201:
        world.published.append((client, answer.json()["id"]))


def unpublish(world: World) -> None:
    """Deletes a published scenario."""
    with world.lock:
        found = world.published.pop(0) if len(world.published) > 3 else None
    if found:
        answer = found[0].ask("DELETE", f"/community/scenarios/{found[1]}")
        world.ledger.answered("unpublish", answer, (204, 404, 410))


def download(world: World) -> None:
    """Downloads a range of an evidence file, which retention may have removed (410)."""
    found = world.ended_job()
    if not found:
        return
    client, job = found
    answer = world.ledger.answered("job", client.ask("GET", f"/verify/{job}"), (200, 410))
    if answer.status != 200:
        return
    files = [file for episode in answer.json()["episode_details"] for file in episode["evidence"] if file.get("url")]
    for file in world.dice.sample(files, min(2, len(files))):
        first = world.dice.randrange(file["size_bytes"])
        bytes_ = {"range": f"bytes={first}-{first + RANGE_BYTES - 1}"}
        part = world.ledger.answered("range", client.ask("GET", file["url"], headers=bytes_), (206, 410))
        if part.status == 206 and len(part.body) != min(RANGE_BYTES, file["size_bytes"] - first):
            world.ledger.fault(f"range: {len(part.body)} bytes from {first} of {file['size_bytes']}")


def cancel(world: World) -> None:
    """Cancels a job that is running or queued."""
    client = world.client()
    parts = {"scenario": policies.SCENARIO, "num_episodes": 2, "record": "none"}
    answer = client.upload("/verify", policies.policy("slow", world.dice), parts)
    if world.ledger.answered("verify", answer, (201,)).status == 201:
        job = answer.json()["job_id"]
        world.ledger.accepted(job, "slow")
        time.sleep(world.dice.random() * CANCEL_AFTER_S)
        world.ledger.answered("cancel", client.ask("POST", f"/verify/{job}/cancel", b""), (200,))


def erase(world: World) -> None:
    """Erases a job that has ended."""
    with world.ledger.lock:
        found = world.ledger.ended.popleft() if len(world.ledger.ended) > 10 else None
    if found:
        world.ledger.answered("erase", found[0].ask("DELETE", f"/verify/{found[1]}"), (204,))
        world.ledger.erased.add(found[1])


def replay(world: World) -> None:
    """Replays an episode, whose policy retention may have removed (410)."""
    found = world.ended_job()
    if found:
        with world.replaying:
            answer = found[0].send_json("POST", f"/verify/{found[1]}/replay", {"episode": 0})
        world.ledger.answered("replay", answer, (200, 410, BUSY))
        if answer.status == 200 and answer.json()["same"] is not True:
            world.ledger.fault(f"replay of {found[1]}: {answer.text()}")


def read(world: World) -> None:
    """Reads a list, a leaderboard or a report."""
    paths = ["/verify", "/scenarios", "/collections", "/community/scenarios?q=pole", "/seasons", "/submissions"]
    paths += [f"/leaderboard?scenario={world.season}", f"/scenarios/{policies.SCENARIO}"]
    paths += ["/healthz", "/readyz", "/metrics"]
    found = world.ended_job()
    if found:
        below = ("", "/report", "/report.json", "/attestation", "/episodes")
        paths += [f"/verify/{found[1]}{end}" for end in below]
    path = world.dice.choice(paths)
    client = found[0] if found and found[1] in path else world.client()
    world.ledger.answered("read", client.ask("GET", path), (200, 410))


def bad_request(world: World) -> None:
    """Sends an invalid request, which must be refused."""
    client, zipped = world.client(), policies.policy("reference", world.dice)
    kind, whole = form("policy", zipped, {"scenario": policies.SCENARIO})
    stranger = Client(client.address, "assay_no_such_key")
    choices: list[Callable] = [
        lambda: client.upload("/verify", b"no zip", {"scenario": policies.SCENARIO}),
        lambda: client.upload("/verify", zipped[: len(zipped) // 2], {"scenario": policies.SCENARIO}),
        lambda: client.upload("/verify", zipped, {"scenario": "no_such_scenario"}),
        lambda: client.upload("/verify", zipped, {"scenario": policies.SCENARIO, "num_episodes": "-1"}),
        lambda: client.upload("/verify", zipped, {"scenario": policies.SCENARIO, "surprise": "1"}),
        lambda: client.upload("/verify", policies.archive({"../policy.py": "x"}), {"scenario": policies.SCENARIO}),
        lambda: client.upload("/community/scenarios", policies.scenario("../x", "1.0.0"), {}, "scenario"),
        lambda: client.ask("POST", "/verify", whole[:-40], {"content-type": kind}),
        lambda: client.ask("POST", "/verify", b"{}", {"content-type": "application/json"}),
        lambda: client.ask("POST", "/verify", whole, {"content-type": "multipart/form-data"}),
        lambda: client.ask("GET", "/verify/not-an-id"),
        lambda: client.ask("GET", "/artifacts/../../assay.db"),
        lambda: client.ask("GET", "/verify?limit=abc"),
        lambda: client.ask("PATCH", "/verify", b"x"),
        lambda: client.ask("GET", "/keys"),
        lambda: stranger.ask("GET", "/verify"),
        lambda: stranger.upload("/verify", zipped, {"scenario": policies.SCENARIO}),
    ]
    answer = world.dice.choice(choices)()
    world.ledger.answered("bad", answer, (400, 401, 403, 404, 405, 415, 422, BUSY))


def hang_up(world: World) -> None:
    """Sends a part of an upload, or bytes that are not HTTP, and disconnects."""
    client = world.client()
    host, port = client.address.split(":")
    head = f"POST /verify HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {client.key}\r\ncontent-length: 100000\r\n"
    head += f"content-type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n--{BOUNDARY}\r\n"
    no_http = b"\x16\x03\x01\x00" + world.dice.randbytes(99)
    with socket.create_connection((host, int(port)), timeout=10) as stream:
        stream.sendall(world.dice.choice((head.encode(), head.encode()[:60], no_http)))
        time.sleep(world.dice.random())


# Average time in seconds between two operations of a kind.
MIX: dict[Callable[[World], None], float] = {
    verify: 7,
    cancel: 45,
    preflight: 45,
    submit: 60,
    publish: 150,
    unpublish: 400,
    download: 5,
    erase: 30,
    replay: 120,
    read: 2,
    bad_request: 4,
    hang_up: 20,
    leave_early: 15,
}
