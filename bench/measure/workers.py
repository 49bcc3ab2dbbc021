"""Measures two workers on other hosts, of one lane and one processor each, against a server with two lanes.

Workers and server share the machine's processors here. So the processor time of the server, which checks each result, is
measured apart from that of the workers, which is what counts if the server is elsewhere."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from datetime import datetime
from pathlib import Path

from .common import LIMIT_S, LISTENING, POLICY, SCENARIO, environment, on_core, result, wait_for
from .job import Client, form, policy_zip

EPISODES = 40
# Of a first job, after which lanes, fork servers and caches are warm. It counts in neither figure.
FIRST_EPISODES = 8
WORKERS = 2
# Warm interpreters are started by then.
WARM_UP_S = 3
POLL_S = 0.5
MAX_REPETITIONS = 3
TARGET = (">=", 0.95)


def run(bench):
    ratios, own, details = [], [], []
    for _ in range(min(bench.repetitions, MAX_REPETITIONS)):
        local, idle = measured(bench, 0, EPISODES), measured(bench, 0, 0)
        remote, waiting = measured(bench, WORKERS, EPISODES), measured(bench, WORKERS, 0)
        cpu = {
            "local": (local["server"] - idle["server"]) / EPISODES,
            "workers": (remote["workers"] - waiting["workers"]) / EPISODES,
            "server": (remote["server"] - waiting["server"]) / EPISODES,
        }
        ratios.append(local["wall"] / remote["wall"])
        own.append(cpu["local"] / cpu["workers"])
        details.append({
            "local lanes, episodes a second": EPISODES / local["wall"],
            "workers, episodes a second": EPISODES / remote["wall"],
            **{f"processor time of an episode, {name}, ms": 1e3 * value for name, value in cpu.items()},
        })
    shared = result("two workers and their server on two processors, against two lanes", ratios, TARGET, "x")
    shared["detail"] = details[-1]
    apart = result("  processor time of an episode on two lanes, against that of the workers alone", own, TARGET, "x")
    return [shared, apart]


def measured(bench, workers, episodes):
    """Returns the wall-clock time of a job, if `episodes` is not 0, and the processor time of the server and of the
    workers with all their processes from start to end, in s. A first job is part of the latter, with and without one."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        lanes = 0 if workers else WORKERS
        server, client, address = serve(bench, Path(folder), lanes)
        used = {"server": 0.0, "workers": 0.0}
        # Called in reverse order: the workers end first.
        running.callback(lambda: used.update(server=end(server)))
        for number in range(workers):
            child = work(bench, Path(folder), client, address, number)
            running.callback(lambda child=child: used.update(workers=used["workers"] + end(child)))
        time.sleep(WARM_UP_S)
        job(bench, client, FIRST_EPISODES)
        time.sleep(WARM_UP_S)
        wall = job(bench, client, episodes) if episodes else 0.0
        running.close()
        return used | {"wall": wall}


def serve(bench, folder, lanes):
    data, log = folder / "data", folder / "log"
    command = [bench.assay, "serve", "--listen", "127.0.0.1:0", "--data", data, "--lanes", str(lanes)]
    with open(log, "wb") as output:
        server = subprocess.Popen(command, cwd=bench.root, env=environment(), stderr=output)
    found = wait_for(lambda: LISTENING.search(log.read_text()))
    address = f"http://{found[1]}:{found[2]}"
    return server, Client(address, data / "bootstrap-key"), address


def work(bench, folder, client, address, number):
    body = json.dumps({"name": f"w{number}"}).encode()
    token = client.request("/v1/workers", body, "application/json")["token"]
    command = [bench.assay, "worker", "--server", address, "--lanes", "1", "--cache", folder / f"cache{number}"]
    return subprocess.Popen(
        command, cwd=bench.root, env=environment() | {"ASSAY_WORKER_TOKEN": token}, stderr=subprocess.DEVNULL,
        preexec_fn=on_core(number % os.cpu_count()),
    )


def job(bench, client, episodes):
    """Returns the time from the first claim to the verdict."""
    fields = {"scenario": SCENARIO, "num_episodes": episodes, "seed": 1, "record": "none"}
    name = client.request("/verify", *form(fields, policy_zip(bench.root / POLICY)))["job_id"]
    until = time.monotonic() + LIMIT_S
    while (report := client.request(f"/verify/{name}"))["status"] != "COMPLETED":
        if report["status"] not in ("QUEUED", "RUNNING", "JUDGING") or time.monotonic() > until:
            raise SystemExit(f"job {name} is {report['status']}")
        time.sleep(POLL_S)
    began, ended = (datetime.fromisoformat(report[field]) for field in ("started_at", "completed_at"))
    return (ended - began).total_seconds()


def end(child):
    """Stops a program; returns its processor time, and that of its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child.send_signal(signal.SIGTERM)
    child.wait(LIMIT_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
