"""The lane's process, and the policy's end of its frames."""

import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._home import HOME, cannot_start
from .._program import find
from ..errors import ProgramError
from .errors import LaneEnded, NotInstalled, ScenarioRefused

MAGIC = b"ASY1"
HEADER = struct.Struct("<4sBBHIIQ")
INIT, READY, OBSERVATION, ACTION, LAST = 4, 5, 6, 7, 10
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MAX_FRAME_BYTES = 64 * 1024 * 1024
EXIT_LIMIT_S = 5.0
# The same as for every lane of the worker: the C library's functions give the same bits on every processor.
TUNABLES = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"}


def installation() -> Path:
    """Returns the folder with `scenarios` and `robots`: ASSAY_HOME, or the installation in this package, or the source tree
    that contains it."""
    home = os.environ.get("ASSAY_HOME")
    places = [Path(home)] if home else [HOME, HOME.parents[2]]
    for folder in places:
        if (folder / "scenarios").is_dir():
            return folder
    raise NotInstalled(f"{places[-1]} has no folder 'scenarios': set ASSAY_HOME to the installation of assay")


def program() -> Path:
    """Returns the path of `assay-lane`, which is beside the program `assay`."""
    try:
        place = find().resolve().with_name("assay-lane")
    except ProgramError as error:
        raise NotInstalled(str(error)) from error
    if not os.access(place, os.X_OK):
        raise NotInstalled(f"{place} is missing: it belongs beside the program assay")
    return place


def _end(process: "subprocess.Popen[bytes]", control: socket.socket, streams: list[int], scratch: str) -> None:
    """Ends the process and removes its folder. Its streams are closed first, so that a lane in the middle of an episode ends by itself."""
    control.close()
    while streams:
        os.close(streams.pop())
    process.kill()
    process.wait(EXIT_LIMIT_S)
    shutil.rmtree(scratch, ignore_errors=True)


class Lane:
    """One process of `assay-lane`, which serves one scenario, one episode after another."""

    def __init__(self, scenario: Path, robots: Path, pictures: bool) -> None:
        mine, its = socket.socketpair()
        scratch = tempfile.mkdtemp(prefix="assay-env-")
        mode = "environment-pictures" if pictures else "environment"
        command = [str(program()), mode, str(scenario), str(robots), scratch]
        try:
            quiet, environment = subprocess.DEVNULL, {**os.environ, **TUNABLES}
            process = subprocess.Popen(command, stdin=its.fileno(), stdout=quiet, stderr=quiet, env=environment)
        except OSError as error:
            mine.close()
            shutil.rmtree(scratch, ignore_errors=True)
            raise NotInstalled(cannot_start(command[0], error)) from error
        finally:
            its.close()
        self.process, self._control, self._streams = process, mine, list[int]()
        self.running = False
        self._end = weakref.finalize(self, _end, process, mine, self._streams, scratch)
        for _ in range(2):
            reply = self._reply()
        if reply["reply"] != "ready":
            self.close()
            raise ScenarioRefused(f"the scenario cannot be used; correct it: {reply.get('message', reply)}")

    def begin(self, episode: int, world_seed: int) -> dict[str, Any]:
        """Begins an episode and returns its INIT; an episode that is still running is abandoned."""
        if self.running:
            self.end()
        from_lane, its_to = os.pipe()
        its_from, to_lane = os.pipe()
        self._streams += [from_lane, to_lane]
        seeds = {"world": world_seed, "policy": 0}
        run = {"command": "run", "episode": episode, "seeds": seeds, "nonce": 0, "policy_pid": None, "evidence": None}
        body = json.dumps(run).encode()
        try:
            socket.send_fds(self._control, [struct.pack("<I", len(body)) + body], [its_to, its_from])
        except OSError as error:
            raise self._gone() from error
        finally:
            os.close(its_to)
            os.close(its_from)
        self.running = True
        kind, _, payload = self.receive()
        if kind != INIT:
            raise LaneEnded(f"the lane sent frame {kind} instead of INIT: use programs and package of one version")
        init: dict[str, Any] = json.loads(bytes(payload))
        return init

    def send(self, kind: int, seq: int, payload: bytes) -> None:
        try:
            os.write(self._streams[1], HEADER.pack(MAGIC, kind, 0, 0, seq, len(payload), 0) + payload)
        except (OSError, IndexError) as error:  # no streams: it ended before
            raise self._gone() from error

    def receive(self, expected: int = 65536) -> tuple[int, int, memoryview]:
        """Returns kind, number and payload of the next frame."""
        data = self._read(expected)
        while len(data) < HEADER.size:
            data += self._read(expected)
        magic, kind, _, _, seq, length, _ = HEADER.unpack_from(data)
        if magic != MAGIC or length > MAX_FRAME_BYTES:
            raise LaneEnded("the lane sent no frame: use programs and package of one version")
        while len(data) < HEADER.size + length:
            data += self._read(HEADER.size + length - len(data))
        return kind, seq, memoryview(data)[HEADER.size :]

    def receive_into(self, frame: memoryview) -> int:
        """Reads a frame of an observation, header included, which must fill `frame`; returns its kind."""
        done = 0
        while done < len(frame):
            part = os.readv(self._streams[0], [frame[done:] if done else frame])
            if part == 0:
                raise self._gone()
            done += part
            if done >= HEADER.size:
                magic, kind, _, _, _, length, _ = HEADER.unpack_from(frame)
                if magic != MAGIC or kind not in (OBSERVATION, LAST) or length != len(frame) - HEADER.size:
                    raise LaneEnded("the lane sent no observation: use programs and package of one version")
        return int(kind)

    def end(self) -> dict[str, Any]:
        """Ends the episode, abandoning it if it is still running; returns the lane's result."""
        self.running = False
        while self._streams:
            os.close(self._streams.pop())
        reply = self._reply()
        if reply["reply"] != "done":
            raise LaneEnded("the lane sent no result: use programs and package of one version")
        result: dict[str, Any] = reply["result"]
        return result

    def close(self) -> None:
        """Ends the process and removes its folder. May be called more than once."""
        self._end()

    def _read(self, size: int) -> bytes:
        data = os.read(self._streams[0], size)
        if not data:
            raise self._gone()
        return data

    def _reply(self) -> dict[str, Any]:
        (length,) = struct.unpack("<I", self._exactly(4, self._control.recv))
        if length > MAX_MESSAGE_BYTES:
            raise LaneEnded("the lane sent a message that is too long: use programs and package of one version")
        reply: dict[str, Any] = json.loads(self._exactly(length, self._control.recv))
        return reply

    def _exactly(self, size: int, read: Callable[[int], bytes]) -> bytes:
        data = b""
        while len(data) < size:
            part = read(size - len(data))
            if not part:
                raise self._gone()
            data += part
        return data

    def _gone(self) -> LaneEnded:
        self.running = False
        self.close()
        return LaneEnded(f"the lane ended with status {self.process.poll()}: make a new environment")
