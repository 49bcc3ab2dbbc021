"""Samples of the resources of a service and its children, from /proc and the data folder."""

import csv
import os
import pathlib
import threading
import time

EVERY_S = 30
TICKS = os.sysconf("SC_CLK_TCK")
PARTS = {"evidence": "blobs", "policies": "policies", "uploads": "uploads", "scenarios": "scenarios"}
COLUMNS = (
    "t_s rss_kib anon_kib fds threads children children_rss_kib children_fds children_threads records_kib wal_kib "
    "evidence_kib policies_kib uploads_kib scenarios_kib temp_files temp_kib shm_files cpu_s"
).split()


def descendants(root: int) -> list[int]:
    """Returns the direct and indirect child processes of `root`."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            stat = stat_fields(int(entry))
            if stat:
                children.setdefault(int(stat[1]), []).append(int(entry))
    found, left = [], [root]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def stat_fields(pid: int) -> list[str]:
    """Returns the fields of /proc/PID/stat from the state on, or none if the process has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def status(pid: int) -> dict[str, int]:
    """Returns the numbers of /proc/PID/status, or none if the process has ended."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {name: int(value.split()[0]) for name, value in pairs if value.split() and value.split()[0].isdigit()}


def descriptors(pid: int) -> int:
    """Returns the number of descriptors of a process, or 0 if it has ended."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def files(folder: pathlib.Path) -> tuple[int, int]:
    """Returns the number of files below a folder, and the KiB that they take on the disk."""
    count = kib = 0
    for place, _, names in os.walk(folder, onerror=lambda _: None):
        for name in names:
            try:
                kib += os.lstat(os.path.join(place, name)).st_blocks // 2
                count += 1
            except OSError:
                pass  # removed meanwhile
    return count, kib


def file_kib(path: pathlib.Path) -> int:
    """Returns the size of a file in KiB, or 0 if it does not exist."""
    return path.stat().st_size // 1024 if path.exists() else 0


def cpu_s(pids: list[int]) -> float:
    """Returns the CPU seconds of processes, including their children that have ended."""
    return sum(sum(int(ticks) for ticks in stat_fields(pid)[11:15]) for pid in pids) / TICKS


class Sampler(threading.Thread):
    """Writes a line of samples to a CSV file every `EVERY_S` until stopped."""

    def __init__(self, pid: int, data: pathlib.Path, temporary: pathlib.Path, table: pathlib.Path):
        super().__init__(daemon=True)
        self.pid, self.data, self.temporary, self.table = pid, data, temporary, table
        self.rows: list[dict[str, float]] = []
        self.ended = threading.Event()
        self.began = time.monotonic()

    def sample(self) -> dict[str, float]:
        """Returns a sample."""
        server, below = status(self.pid), descendants(self.pid)
        children = [status(pid) for pid in below]
        row = {"t_s": round(time.monotonic() - self.began, 1)}
        row |= {"rss_kib": server.get("VmRSS", 0), "anon_kib": server.get("RssAnon", 0)}
        row |= {"fds": descriptors(self.pid), "threads": server.get("Threads", 0), "children": len(below)}
        row["children_rss_kib"] = sum(child.get("VmRSS", 0) for child in children)
        row["children_fds"] = sum(map(descriptors, below))
        row["children_threads"] = sum(child.get("Threads", 0) for child in children)
        row["records_kib"] = file_kib(self.data / "assay.db")
        row["wal_kib"] = file_kib(self.data / "assay.db-wal")
        row |= {f"{name}_kib": files(self.data / folder)[1] for name, folder in PARTS.items()}
        row["temp_files"], row["temp_kib"] = files(self.temporary)
        row["shm_files"] = files(pathlib.Path("/dev/shm"))[0]
        row["cpu_s"] = cpu_s([self.pid, *below])
        return row

    def run(self) -> None:
        with open(self.table, "w", newline="") as output:
            writer = csv.DictWriter(output, COLUMNS)
            writer.writeheader()
            while not self.ended.wait(EVERY_S):
                row = self.sample()
                self.rows.append(row)
                writer.writerow(row)
                output.flush()

    def stop(self) -> list[dict[str, float]]:
        """Stops the thread and returns the samples."""
        self.ended.set()
        self.join()
        return self.rows
