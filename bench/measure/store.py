"""Measures the records on PostgreSQL: results with group commit against one transaction for each, claims against a
literal port of SQLite's, and requests of `assay serve` against the same with the records in SQLite.

`crates/assay-store/examples/store_rates.rs` measures the first two in one process. Needs PostgreSQL."""

import http.client
import json
import os
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from .common import LISTENING, environment, result, wait_for
from .events import Service

LIMIT_S = 600
JOBS = 50
WARM_UP, REQUESTS = 50, 500
SETTINGS = ["limits.rate.get_per_minute=1000000", "limits.rate.verify_per_minute=1000000"]
SETTINGS += ["limits.account.active_jobs=1000"]


def run(bench):
    done = subprocess.run([program(bench), "rates"], capture_output=True, text=True, timeout=LIMIT_S, check=True)
    rates = json.loads(done.stdout)
    grouped, single = rates["results_per_s"]["grouped"], rates["results_per_s"]["single"]
    results = result("results recorded in groups, against one transaction each", [grouped / single], (">=", 4), "x")
    results["detail"] = {"in groups, per s": grouped, "one each, per s": single}
    claimed = rates["claims_per_s"]
    literal = claimed["literal port"]
    ratios = [claimed["one process"] / literal]
    claims = result("claims of 16 workers, against a literal port of SQLite's", ratios, (">=", 4), "x")
    claims["detail"] = {f"{name}, per s": rate for name, rate in claimed.items()}
    return [results, claims, *requests(bench)]


def program(bench):
    """Builds the example and returns its path."""
    build = ["cargo", "build", "--release", "--locked", "-p", "assay-store", "--example", "store_rates"]
    subprocess.run(build, cwd=bench.root, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", bench.root / "target")) / "release" / "examples" / "store_rates"


@contextmanager
def databases(bench):
    """Yields a function that creates a database on a server and returns its address."""
    server = subprocess.Popen([program(bench), "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def create():
        print(file=server.stdin, flush=True)
        return server.stdout.readline().strip()

    try:
        yield create
    finally:
        server.stdin.close()
        server.wait()


def requests(bench):
    with databases(bench) as create:
        pairs = [(served(bench, []), served(bench, ["--store", create()])) for _ in range(bench.repetitions)]
    rows = []
    for index, name in enumerate(["GET of a job", f"list of {JOBS} jobs"]):
        ratios = [postgres[index] / sqlite[index] for sqlite, postgres in pairs]
        row = result(f"{name}, records on PostgreSQL against SQLite", ratios, ("<=", 3), "x")
        row["detail"] = {"SQLite, us": pairs[-1][0][index] * 1e6, "PostgreSQL, us": pairs[-1][1][index] * 1e6}
        rows.append(row)
    return rows


def served(bench, more):
    """Returns the mean times of a GET of a job and of a list, in s, for one client."""
    with tempfile.TemporaryDirectory() as data:
        command = [bench.assay, "serve", "--listen", "127.0.0.1:0", "--data", data, "--lanes", "1", *more]
        for setting in SETTINGS:
            command += ["--set", setting]
        with open(Path(data) / "log", "w+") as log:
            server = subprocess.Popen(command, cwd=bench.root, env=environment(), stderr=log)
            try:
                found = wait_for(lambda: LISTENING.search((Path(data) / "log").read_text()))
                key = (Path(data) / "bootstrap-key").read_text().strip()
                service = Service(f"http://{found[1]}:{found[2]}", key)
                for _ in range(JOBS - 2):  # the service has two already
                    service.verify()
                return [mean(found, key, path) for path in (f"/verify/{service.job}", f"/verify?limit={JOBS}")]
            finally:
                server.terminate()
                server.wait()


def mean(address, key, path):
    connection = http.client.HTTPConnection(address[1], int(address[2]), timeout=LIMIT_S)

    def ask():
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path} was answered {answer.status}")

    for _ in range(WARM_UP):
        ask()
    begun = time.perf_counter()
    for _ in range(REQUESTS):
        ask()
    return (time.perf_counter() - begun) / REQUESTS
