"""Compares three requests of the HTTP interface with two FastAPI services that do the same, each server on one
processor and the load on another: requests per second, latency at a steady rate, memory."""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request
import zipfile
from pathlib import Path

from .common import LISTENING, SLOW, environment, on_core, result, wait_for

SERVER_CORE, LOAD_CORE = 0, 1
SCENARIO = "cartpole_keepin"
KEY = "assay_bench_" + "5a" * 32
ROWS = 500
EPISODES, LONG = 10, 1000
CONNECTIONS = 16
ROUND_S = 4
STEADY_S = 15
STEADY_PER_S = 200
LIMIT_S = 60
# The mix of ten requests at the steady rate, similar to that of a client that waits for its job.
MIX = ("get",) * 8 + ("list", "upload")
# Target ratios to the usual and to the tuned service.
TARGETS = {"get": (15, 5), "list": (6, 2), "upload": (3, 1.5)}
NAMES = {"get": "GET by id", "list": "list of 50", "upload": "upload of 10 kB"}
SETTINGS = [f"limits.rate.{name}_per_minute=1000000000" for name in ("verify", "get", "write")] + [
    "limits.account.jobs_per_day=1000000000", "limits.account.active_jobs=1000000000",
    "limits.account.queued_sim_s=1000000000000", "limits.account.uploads=1000000", "server.log_level=info",
]


def run(bench):
    if not shutil.which("wrk"):
        raise SystemExit("the benchmark `api` needs wrk: apt-get install wrk")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        usual, tuned = (stack.enter_context(fastapi(bench, folder, kind)) for kind in ("usual", "tuned"))
        servers = {"assay": stack.enter_context(assay(bench, folder)), "usual": usual, "tuned": tuned}
        for server in servers.values():
            server.fill()
        # Measured first, while all have the same number of rows: a faster server has more rows after the uploads.
        latencies = {name: steady(server) for name, server in servers.items()}
        rates = {(name, what): [] for name in servers for what in TARGETS}
        for what in TARGETS:
            for _ in range(max(2, bench.repetitions - 2)):
                for name, server in servers.items():
                    rates[name, what].append(server.rate(folder, what))
        peak = {name: peak_kib(server.pid) / 1024 for name, server in servers.items()}
    return [*speeds(rates), latency(latencies), memory(peak)]


def speeds(rates):
    """Returns the ratios of requests per second to each service, for each kind of request."""
    rows = []
    for what, targets in TARGETS.items():
        for kind, target in zip(("usual", "tuned"), targets, strict=True):
            pairs = zip(rates["assay", what], rates[kind, what], strict=True)
            row = result(f"{NAMES[what]}, against the {kind} service", [a / b for a, b in pairs], (">=", target), "x")
            row["detail"] = {f"{name}, 1/s": max(rates[name, what]) for name in ("assay", kind)}
            rows.append(row)
    return rows


def latency(latencies):
    ratio = latencies["assay"][1] / latencies["tuned"][1]
    row = result("p99 at 200 requests a second, against the tuned service", [ratio])
    row |= {"unit": "x", "target": ("<=", 0.5), "met": row["value"] <= 0.5}
    row["detail"] = {
        f"{name}, {part} ms": value for name, found in latencies.items() for part, value in zip(("p50", "p99"), found)
    }
    return row


def memory(peak):
    row = result("memory under load, against the tuned service", [peak["assay"] / peak["tuned"]], ("<=", 0.25), "x")
    row["detail"] = {f"{name}, MiB": value for name, value in peak.items()}
    return row


class Server:
    """One of the three servers, and the load for it."""

    def __init__(self, port, pid):
        self.port, self.pid, self.parts, self.jobs = port, pid, upload_parts(archive(), EPISODES), []
        self.count = 0

    def ask(self, request):
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return json.load(answer)

    def upload(self, episodes=EPISODES):
        """Returns an upload of a unique archive."""
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "multipart/form-data; boundary=XyZ"}
        self.count += 1
        body = f"{self.count:016x}".encode().join(upload_parts(archive(), episodes))
        return urllib.request.Request(f"http://127.0.0.1:{self.port}/verify", body, headers)

    def fill(self):
        self.jobs = [self.ask(self.upload())["job_id"] for _ in range(ROWS)]

    def rate(self, folder, what):
        """Returns the number of successful requests per second; fails if any request was refused."""
        script = folder / "load.lua"
        script.write_text(SCRIPTS[what])
        for name, part in zip(("before", "after"), self.parts, strict=True):
            (folder / name).write_bytes(part)
        (folder / "jobs").write_text("\n".join(self.jobs))
        self.count += 10_000_000
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{ROUND_S}s", "--timeout", "20s", "-s", script, f"http://127.0.0.1:{self.port}"]
        given = environment() | {"FOLDER": str(folder), "KEY": KEY, "FIRST": str(self.count)}
        done = subprocess.run(
            command, env=given, capture_output=True, text=True, timeout=LIMIT_S, preexec_fn=on_core(LOAD_CORE),
        )
        if done.returncode or "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
            raise SystemExit(f"the load failed: {done.stdout}{done.stderr}")
        return float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])


HEAD = """
local headers = { ["Authorization"] = "Bearer " .. os.getenv("KEY") }
local function read(name)
  local file = io.open(os.getenv("FOLDER") .. "/" .. name, "rb")
  local text = file:read("*a")
  file:close()
  return text
end
"""
SCRIPTS = {
    "get": HEAD + """
local jobs, at = {}, 0
for job in read("jobs"):gmatch("%S+") do jobs[#jobs + 1] = wrk.format("GET", "/verify/" .. job, headers) end
request = function() at = at % #jobs + 1 return jobs[at] end
""",
    "list": HEAD + """
local page = nil
request = function() page = page or wrk.format("GET", "/verify?limit=50", headers) return page end
""",
    "upload": HEAD + """
headers["Content-Type"] = "multipart/form-data; boundary=XyZ"
local before, after, count = read("before"), read("after"), tonumber(os.getenv("FIRST"))
request = function()
  count = count + 1
  return wrk.format("POST", "/verify", headers, before .. string.format("%016x", count) .. after)
end
""",
}


def archive():
    """Returns an archive of 10 kB with a comment of 16 characters, which is replaced to make each upload unique."""
    source = SLOW + "# " + os.urandom(4_900).hex() + "\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as files:
        files.writestr("policy.py", source)
        files.comment = b"@" * 16
    return out.getvalue()


def upload_parts(data, episodes):
    """Returns the multipart body before and after the archive's comment."""
    head = '--XyZ\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'
    body = (head % ("scenario", "")).encode() + SCENARIO.encode() + b"\r\n"
    body += (head % ("num_episodes", "")).encode() + b"%d\r\n" % episodes
    body += (head % ("policy", '; filename="policy.zip"\r\nContent-Type: application/zip')).encode()
    return body + data[:-16], b"\r\n--XyZ--\r\n"


@contextlib.contextmanager
def assay(bench, folder):
    data, log = folder / "data", folder / "assay.log"
    command = [bench.assay, "serve", "--listen", "127.0.0.1:0", "--data", data, "--lanes", "1"]
    for setting in SETTINGS:
        command += ["--set", setting]
    given = environment() | {"ASSAY_BOOTSTRAP_KEY": KEY}
    with open(log, "wb") as file:
        server = subprocess.Popen(
            command, cwd=bench.root, env=given, stderr=file, preexec_fn=on_core(SERVER_CORE),
        )
        try:
            port = wait_for(lambda: ended(server, log) or LISTENING.search(log.read_text()))[2]
            found = Server(int(port), server.pid)
            slow = found.ask(found.upload(LONG))["job_id"]
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/verify/{slow}", headers={"Authorization": f"Bearer {KEY}"}
            )
            wait_for(lambda: found.ask(request)["started_at"])
            yield found
        finally:
            server.terminate()
            server.wait()


@contextlib.contextmanager
def fastapi(bench, folder, kind):
    own = folder / kind
    own.mkdir()
    command = [bench.python, "-B", bench.root / "bench" / f"jobs_{kind}.py", own, KEY]
    server = subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, text=True, preexec_fn=on_core(SERVER_CORE)
    )
    try:
        yield Server(int(server.stdout.readline()), server.pid)
    finally:
        server.kill()
        server.wait()


def steady(server):
    """Returns median and 99th percentile of the latency in ms, measured from when each request was due."""
    program = Path(__file__).parent.parent / "steady_load.py"
    options = {
        "port": server.port, "key": KEY, "mix": MIX, "rate": STEADY_PER_S, "seconds": STEADY_S, "jobs": server.jobs,
        "before": server.parts[0].decode("latin-1"), "after": server.parts[1].decode("latin-1"),
    }
    done = subprocess.run(
        ["python3", "-B", program], input=json.dumps(options), capture_output=True, text=True, timeout=2 * LIMIT_S,
        preexec_fn=on_core(LOAD_CORE),
    )
    if done.returncode:
        raise SystemExit(f"the steady load failed: {done.stderr}")
    return json.loads(done.stdout)


def ended(server, log):
    """Fails with the server's log if the server is not running."""
    if server.poll() is not None:
        raise SystemExit(f"the server ended: {log.read_text()}")


def peak_kib(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
