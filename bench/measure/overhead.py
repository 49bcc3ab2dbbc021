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
from io import BytesIO
from pathlib import Path

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
POLL_S = 0.2


def run(bench):
    steps, episodes, lanes = [], [], []
    for _ in range(bench.repetitions):
        physics = bare(bench, "tabletop_reach")
        job = cpu_of(bench, "tabletop_reach", EPISODES)
        steps.append(job / (EPISODES * STEPS) - physics * DECIMATION)
        episodes.append(cpu_of(bench, "cartpole_keepin", EPISODES) / EPISODES / 1e3)
        lanes.append(wall_of(bench, 1) / wall_of(bench, 2))
    detail = {"bare physics, us": physics * DECIMATION, "all, us": job / (EPISODES * STEPS)}
    return [
        result("tabletop_reach, constant policy: CPU per control step beyond mj_step", steps, STEP_TARGET, " us", detail),
        result("cartpole_keepin, constant policy: CPU of an episode", episodes, EPISODE_TARGET, " ms"),
        result("two lanes, against one with both processors free", lanes, LANES_TARGET, "x"),
    ]


def bare(bench, scenario):
    """Returns the CPU time of a physics step in us."""
    command = [bench.python, "bench/frozen_steps.py", scenario, "--steps", str(STEPS * DECIMATION)]
    done = subprocess.run(
        command, cwd=bench.root, env=environment(), capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    return json.loads(done.stdout)["cpu_us_per_step"]


def cpu_of(bench, scenario, episodes):
    """Returns the CPU time in us of a job on a new server."""
    return serve(bench, scenario, episodes) - serve(bench, scenario, 0)


def serve(bench, scenario, episodes):
    """Returns the CPU time in us of a server and its processes, with one job if `episodes` is not 0."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % probe.getsockname()[1]
        probe.close()
        data = Path(folder) / "data"
        command = [bench.assay, "serve", "--listen", address, "--data", data, "--lanes", "1"]
        before = children_cpu()
        server = subprocess.Popen(command, cwd=bench.root, env=environment(), stderr=subprocess.DEVNULL)
        try:
            client = Client(f"http://{address}", data / "bootstrap-key")
            # Warm interpreters are started by then, with and without a job.
            time.sleep(2)
            if episodes:
                run_job(bench, client, scenario, episodes)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(LIMIT_S)
        return 1e6 * (children_cpu() - before)


def run_job(bench, client, scenario, episodes):
    fields = {"scenario": scenario, "num_episodes": episodes, "seed": 1, "record": "none"}
    job = client.request("/verify", *form(fields, archive(bench, scenario)))["job_id"]
    until = time.monotonic() + LIMIT_S
    while (status := client.request(f"/verify/{job}")["status"]) != "COMPLETED":
        if status not in ("QUEUED", "RUNNING", "JUDGING") or time.monotonic() > until:
            raise SystemExit(f"job {job} is {status}")
        time.sleep(POLL_S)


def archive(bench, scenario):
    """Returns an archive of the scenario's policy `idle`, which always acts the same."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.write(bench.root / "examples" / "policies" / scenario / "idle" / "policy.py", "policy.py")
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
