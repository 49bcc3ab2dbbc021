"""A policy that tries to reach, disturb and slow another one that runs at the same time; tells what it managed."""

import ctypes
import fcntl
import os
import signal
import socket
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
STEPS, STEP_CPU_S = 300, 0.03
managed, kept = set(), []
calls = 0


def attempt(name, action):
    try:
        result = action()
    except Exception:  # noqa: BLE001
        return
    if result != -1:
        managed.add(name)


def busy(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def abstract_socket():
    socket.socket(socket.AF_UNIX).bind("\0assay")


def meddle():
    for pid in [*range(2, 400), HOST_PID, -1]:
        attempt("signals", lambda pid=pid: os.kill(pid, signal.SIGKILL))
        attempt("priorities", lambda pid=pid: os.setpriority(os.PRIO_PROCESS, pid, 19))
        attempt("processors", lambda pid=pid: os.sched_setaffinity(pid, {0}))
        attempt("limits", lambda pid=pid: libc.prlimit(pid, 0, None, ctypes.create_string_buffer(16)))
        attempt("a process's files", lambda pid=pid: os.listdir(f"/proc/{pid}"))
    for path in ("/tmp/assay", "/dev/shm/assay", "/var/tmp/assay", "/policy/assay", "/runner/assay", "assay"):
        attempt(f"writes {path}", lambda path=path: open(path, "w"))
    attempt("System V memory", lambda: libc.shmget(0x1234, 4096, 0o1666))
    attempt("System V messages", lambda: libc.msgget(0x1234, 0o1666))
    attempt("System V semaphores", lambda: libc.semget(0x1234, 1, 0o1666))
    attempt("a message queue", lambda: libc.syscall(240, b"assay", 0o102, 0o666, None))
    attempt("a socket", abstract_socket)
    attempt("a lock", lambda: fcntl.flock(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB))
    attempt("a watch", lambda: libc.inotify_init())


def policy(observation):
    global calls
    calls += 1
    if calls == 1:
        meddle()
        kept.append(bytearray(os.urandom(1 << 20)) * 256)
    helpers = [threading.Thread(target=busy, args=(STEP_CPU_S / 4,)) for _ in range(4)]
    for helper in helpers:
        helper.start()
    for helper in helpers:
        helper.join()
    if calls == STEPS:
        raise RuntimeError(f"managed: {sorted(managed)}")
    return [0.0]
