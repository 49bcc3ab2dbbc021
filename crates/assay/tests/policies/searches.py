"""A policy that looks for secrets wherever it can get, and tells all it found and how far it came."""

import ctypes
import os
import re

SECRET = re.compile(rb"canary-[0-9a-z]+")
# Read, but of each file only so much.
MOST_BYTES = 1 << 20
# What a process may be asked for by name, where listing is not possible.
PLACES = (
    "/", "/etc", "/home", "/root", "/tmp", "/var", "/var/tmp", "/run", "/srv", "/opt", "/dev", "/dev/shm", "/dev/fd",
    "/sys", "/proc", "/proc/self", "/proc/1", "/proc/self/fd", "/proc/self/task", "/mnt", "/media",
    "..", "../..", "/policy/..", "/policy", "/runner", os.path.dirname(__file__),
)
FILES = ("environ", "cmdline", "maps", "mountinfo", "mem", "cwd", "root", "exe", "status")

found, names, read = set(), set(), 0


def look_into(text):
    found.update(match.decode() for match in SECRET.findall(text))


def look_at(path):
    global read
    look_into(os.fsencode(path))
    try:
        look_into(os.fsencode(os.readlink(path)))
    except OSError:
        pass
    try:
        # A pipe must not keep us waiting.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        look_into(os.read(fd, MOST_BYTES))
        read += 1
    except OSError:
        pass
    finally:
        os.close(fd)


def search():
    for name, value in os.environ.items():
        look_into(f"{name}={value}".encode())
    # The environment and arguments as the kernel left them above the stack.
    environment = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    index = 0
    while environment and environment[index]:
        look_into(environment[index])
        index += 1
    for place in PLACES:
        for folder, _, files in os.walk(place):
            names.add(folder)
            for name in files:
                look_at(os.path.join(folder, name))
    pids = [os.getpid(), os.getppid(), *range(1, 50), HOST_PID]
    for pid in pids:
        for name in FILES:
            look_at(f"/proc/{pid}/{name}")
        for fd in range(10):
            look_at(f"/proc/{pid}/fd/{fd}")
    for path in HOST_PATHS:
        look_at(path)
        try:
            names.update(os.path.join(path, name) for name in os.listdir(path))
        except OSError:
            pass
    # Whatever was inherited.
    for fd in range(64):
        try:
            look_into(os.pread(fd, MOST_BYTES, 0))
        except OSError:
            pass


def policy(observation):
    search()
    outside = sorted(name for name in names if any(name.startswith(path) for path in HOST_PATHS))
    print("seen", sorted(found), outside)
    raise RuntimeError(f"read {read} files; secrets: {sorted(found)}; of the host: {outside}")
