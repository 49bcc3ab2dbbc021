"""Measures idle event streams on one process: memory, CPU time while idle, and the CPU time of one event to all
streams, compared with sse-starlette."""

import io
import json
import os
import re
import resource
import socket
import subprocess
import tempfile
import time
import urllib.request
import zipfile
from pathlib import Path

from .common import LISTENING, SLOW, environment, result, wait_for

STREAMS = 5_000
IDLE_S = 30
LIMIT_S = 60
SCENARIO = "cartpole_keepin"
SETTINGS = ["limits.account.streams=6000", "limits.rate.get_per_minute=100000"]


def run(bench):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        assay_use, other_use = assay(bench), sse_starlette(bench)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    ratio = assay_use["event"] / other_use["event"]
    event = result("one event to all, CPU against sse-starlette", [ratio], ("<=", 0.5), "x")
    event["detail"] = {"assay, s": assay_use["event"], "sse-starlette, s": other_use["event"]}
    memory = result("memory of an idle stream", [assay_use["kib"]], ("<=", 24), "KiB")
    memory["detail"] = {"sse-starlette, KiB": other_use["kib"]}
    idle = result(f"{STREAMS} idle streams, share of a processor", [100 * assay_use["idle"]], ("<=", 1), "%")
    idle["detail"] = {"sse-starlette, %": 100 * other_use["idle"]}
    return [memory, idle, event]


def assay(bench):
    with tempfile.TemporaryDirectory() as data:
        command = [bench.assay, "serve", "--listen", "127.0.0.1:0", "--data", data, "--lanes", "1"]
        for setting in SETTINGS:
            command += ["--set", setting]
        with open(Path(data) / "log", "w+") as log:
            server = subprocess.Popen(command, cwd=bench.root, env=environment(), stderr=log)
            try:
                found = wait_for(lambda: LISTENING.search((Path(data) / "log").read_text()))
                key = (Path(data) / "bootstrap-key").read_text().strip()
                return followed(server.pid, Service(f"http://{found[1]}:{found[2]}", key))
            finally:
                server.terminate()
                server.wait()


class Service:
    """A client of assay."""

    def __init__(self, base, key):
        self.base, self.headers = base, {"Authorization": f"Bearer {key}"}
        self.busy = self.verify()
        wait_for(lambda: self.ask(f"/verify/{self.busy}")["started_at"])
        self.job = self.verify()
        self.path = f"/verify/{self.job}/events"

    def ask(self, path, body=None, headers=None):
        request = urllib.request.Request(self.base + path, data=body, headers=self.headers | (headers or {}))
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return json.load(answer)

    def verify(self):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as files:
            files.writestr("policy.py", SLOW)
        head = '--XyZ\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'
        body = (head % ("scenario", "")).encode() + SCENARIO.encode() + b"\r\n"
        body += (head % ("policy", '; filename="policy.zip"')).encode() + archive.getvalue() + b"\r\n--XyZ--\r\n"
        return self.ask("/verify", body, {"Content-Type": "multipart/form-data; boundary=XyZ"})["job_id"]

    def publish(self):
        self.ask(f"/verify/{self.job}/cancel", b"")

    def finish(self):
        self.ask(f"/verify/{self.busy}/cancel", b"")


class Other:
    """A client of sse-starlette."""

    def __init__(self, base):
        self.base, self.headers, self.path = base, {}, "/events"

    def publish(self):
        urllib.request.urlopen(urllib.request.Request(self.base + "/publish", data=b""), timeout=LIMIT_S).close()

    def finish(self):
        pass


def sse_starlette(bench):
    command = [bench.python, "-B", bench.root / "bench" / "sse_server.py"]
    server = subprocess.Popen(command, cwd=bench.root, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        return followed(server.pid, Other(f"http://127.0.0.1:{int(server.stdout.readline())}"))
    finally:
        server.kill()
        server.wait()


def followed(pid, service):
    """Opens the streams, waits, sends an event to all, and returns the resources that the server used."""
    host, port = service.base.removeprefix("http://").split(":")
    lines = [f"GET {service.path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in service.headers.items()]
    request = ("\r\n".join(lines) + "\r\n\r\n").encode()
    before, streams = memory_kib(pid), []
    for _ in range(STREAMS):
        stream = socket.create_connection((host, int(port)), timeout=LIMIT_S)
        stream.sendall(request)
        read_until(stream, b'"QUEUED"')
        streams.append(stream)
    kib = (memory_kib(pid) - before) / STREAMS
    used, began = cpu_s(pid), time.monotonic()
    time.sleep(IDLE_S)
    idle = (cpu_s(pid) - used) / (time.monotonic() - began)
    used = cpu_s(pid)
    service.publish()
    for stream in streams:
        read_until(stream, b'"CANCELLED"')
        stream.close()
    event = cpu_s(pid) - used
    service.finish()
    return {"kib": kib, "idle": idle, "event": event}


def read_until(stream, text):
    got = b""
    while text not in got:
        more = stream.recv(4096)
        if not more:
            raise SystemExit(f"a stream ended: {got}")
        got += more


def memory_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def cpu_s(pid):
    """Returns the CPU time of the process in s, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
