"""Measures all the CPU time that a job of a constant policy costs a service, beyond bare `mj_step` of the same episode.

It counts the server, its lanes, the policies' processes, evidence and hashing: the CPU time of a server and all its
processes from start to end, less that of a server without a job.
"""

import json
import resource
import signal
import socket
import subprocess
import tempfile
import time
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from . import ceiling
from .common import LIMIT_S, environment, result
from .job import Client, form

EPISODES = 40
# Physics steps in a control step of both scenarios.
DECIMATION = 10
STEPS = 500
# Microseconds per control step of tabletop_reach, beyond physics; milliseconds per episode of cartpole_keepin, in all.
STEP_TARGET, EPISODE_TARGET = ("<=", 110), ("<=", 45)
# A job on two lanes and two processors, against one lane with both processors free.
LANES_TARGET = (">=", 1.7)
# A key may send 60 GET requests a minute.
POLL_S = 1.1


def run(bench):
    steps, episodes, lanes, most = [], [], [], []
    for _ in range(bench.repetitions):
        physics = bare(bench, "tabletop_reach")
        job, _ = cpu_of(bench, constant(bench, "tabletop_reach"), EPISODES)
        steps.append(job / (EPISODES * STEPS) - physics * DECIMATION)
        episodes.append(cpu_of(bench, constant(bench, "cartpole_keepin"), EPISODES)[0] / EPISODES / 1e3)
        lanes.append(wall_of(bench, 1) / wall_of(bench, 2))
        most.append(ceiling.measured(bench))
    detail = {"bare physics, us": physics * DECIMATION, "all, us": job / (EPISODES * STEPS)}
    return [
        result("tabletop_reach, constant policy: CPU per control step beyond mj_step", steps, STEP_TARGET, " us", detail),
        result("cartpole_keepin, constant policy: CPU of an episode", episodes, EPISODE_TARGET, " ms"),
        result("two lanes, against one with both processors free", lanes, LANES_TARGET, "x"),
        ceiling.row(most),
    ]


def bare(bench, scenario):
    """Returns the CPU time of a physics step in us."""
    command = [bench.python, "bench/frozen_steps.py", scenario, "--steps", str(STEPS * DECIMATION)]
    done = subprocess.run(
        command, cwd=bench.root, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    return json.loads(done.stdout)["cpu_us_per_step"]


@dataclass
class Served:
    """A policy to submit: its scenario, its archive, and a folder with runtimes of the service, if it needs others."""

    scenario: str
    archive: bytes
    runtimes: Path | None = None


def constant(bench, scenario):
    """Returns the scenario's policy `idle`, which always acts the same."""
    return Served(scenario, archive(bench.root / "examples" / "policies" / scenario / "idle"))


def cpu_of(bench, served, episodes):
    """Returns the CPU time in us of a job on a new server, and its number of control steps."""
    used, steps = serve(bench, served, episodes)
    return used - serve(bench, served, 0)[0], steps


def serve(bench, served, episodes, jobs=1):
    """Returns the CPU time in us of a server and its processes, with jobs one after the other if `episodes` is not 0, and the
    steps of the last."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % probe.getsockname()[1]
        probe.close()
        data, steps = Path(folder) / "data", 0
        if served.runtimes:
            data.mkdir(0o700)
            (data / "runtimes").symlink_to(served.runtimes)
        command = [bench.assay, "serve", "--listen", address, "--data", data, "--lanes", "1"]
        before = children_cpu()
        server = subprocess.Popen(command, cwd=bench.root, env=environment(), stderr=subprocess.DEVNULL)
        try:
            client = Client(f"http://{address}", data / "bootstrap-key")
            # Warm interpreters are started by then, with and without a job.
            time.sleep(2)
            for _ in range(jobs if episodes else 0):
                steps = run_job(client, served, episodes)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(LIMIT_S)
        return 1e6 * (children_cpu() - before), steps


def run_job(client, served, episodes):
    """Returns the number of control steps of all its episodes."""
    fields = {"scenario": served.scenario, "num_episodes": episodes, "seed": 1, "record": "none"}
    job = client.request("/verify", *form(fields, served.archive))["job_id"]
    until = time.monotonic() + LIMIT_S
    while (found := client.request(f"/verify/{job}"))["status"] != "COMPLETED":
        if found["status"] not in ("QUEUED", "RUNNING", "JUDGING") or time.monotonic() > until:
            raise SystemExit(f"job {job} is {found['status']}")
        time.sleep(POLL_S)
    for episode in found["episode_details"]:
        if episode["error"] is not None:
            raise SystemExit(f"episode {episode['episode']} of job {job} failed: {episode['error']}")
    return sum(episode["steps"] for episode in found["episode_details"])


def archive(folder):
    """Returns an archive of a policy's folder."""
    out = BytesIO()
    # Compressed: a stored .npz, itself an archive, would make the end of this one ambiguous.
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.iterdir()):
            if path.is_file():
                file.write(path, path.name)
    return out.getvalue()


def wall_of(bench, lanes):
    """Returns the wall-clock time of 40 episodes of cartpole_keepin on the command line."""
    command = [bench.assay, "verify", "examples/policies/cartpole_keepin/idle", "--scenario", "cartpole_keepin"]
    command += ["--episodes", str(EPISODES), "--lanes", str(lanes), "--record", "none", "--json", "--seed", "1"]
    begun = time.monotonic()
    subprocess.run(command, cwd=bench.root, env=environment(), capture_output=True, timeout=LIMIT_S, check=False)
    return time.monotonic() - begun


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
