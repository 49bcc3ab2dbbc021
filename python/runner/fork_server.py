"""Forks a process for each episode from one that has imported the runtime, and nothing of a policy.

`serve` runs in a jail with nothing of a policy but the folders that its children will see; it returns only in its
children, each in a jail of its own. A child is a child of the host's process, not of this one (CLONE_PARENT): the host
waits for it, and sees its end and its CPU time. System calls are made by `ctypes` with the interpreter's lock held, so
that no other thread runs in between.

A request is one message: the name of a folder below SLOTS, with the descriptors 0, 1 and 2 of the child, and that of a
Landlock ruleset if the kernel has Landlock. The answer is one message too: "pid N" with the child's process as a
descriptor, or "errno N" if the kernel refuses another process. A child that can't make its jail says why in its log, and ends with NO_JAIL or SHORTAGE.
"""

import ctypes
import errno
import gc
import json
import os
import socket
import struct
import time

# The children's jail without a policy, the folders of their policies, and their further files, as this process sees them.
JAIL, SLOTS, FILES = "/policy/jail", "/policy/slots", "/policy/files"
# The environment variable with the descriptors of the host's socket, of /proc, and of a policy's two filters.
VARIABLE = "ASSAY_FORK_SERVER"
# That with the paths of the further files in the children's jail, a JSON list.
FILES_VARIABLE = "ASSAY_FORK_SERVER_FILES"
# The numbers of the first two while this process runs, above those that a child gets.
SOCKET, PROC = 40, 41
# The number of a child's ruleset, after the three descriptors of every process.
RULESET = 3
MAX_REQUEST_BYTES = 256
NO_JAIL = 70
# The exit status where the kernel was short of something, which may pass.
SHORTAGE = 71
PASSING = (errno.EAGAIN, errno.ENOMEM, errno.ENOSPC, errno.EMFILE, errno.ENFILE)
# The longest time that a thread which was waited for takes to disappear, in s.
SETTLING_S = 1.0

# System calls of x86-64 and their flags, from the kernel's headers.
CLONE, CAPSET, PIVOT_ROOT, PRCTL, MOUNT, UMOUNT2, UNSHARE, SECCOMP, CLOSE_RANGE = 56, 126, 155, 157, 165, 166, 272, 317, 436
CLONE_PIDFD, CLONE_PARENT, CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x1000, 0x8000, 0x200000, 0x1000000
NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
NAMESPACES = NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
# clone and not clone3, since a filter can compare its flags. It bypasses glibc, so the kernel itself writes the child's
# id to where glibc keeps it.
CHILD = NAMESPACES | CLONE_PARENT | CLONE_PIDFD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 0x1000, 0x4000, 0x40000, 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
PR_GET_TID_ADDRESS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 40, 47, 4
SIGKILL = 9
CAPABILITY_VERSION, CAPABILITIES = 0x20080522, 64
SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC = 1, 1
LAST_DESCRIPTOR = 0xFFFFFFFF
# User and group: the same number inside and outside, since this process's namespace already has it.
ID_MAP = b"65534 65534 1"

libc = ctypes.PyDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number: int, *words: object) -> int:
    """Make a system call; raise OSError if it fails."""
    full = [ctypes.c_long(word) if isinstance(word, int) else word for word in words]
    result = libc.syscall(ctypes.c_long(number), *full)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Filter:
    """A compiled system call filter, ready to be loaded."""

    def __init__(self, descriptor: int) -> None:
        code = os.pread(descriptor, 1 << 16, 0)
        os.close(descriptor)
        self.code = ctypes.create_string_buffer(code, len(code))
        self.program = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(self.code)))

    def load(self) -> None:
        call(SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, ctypes.byref(self.program))


def serve() -> None:
    """Start children until the host closes its socket, which ends this process. Return in each child."""
    given = [int(word) for word in taken(VARIABLE).split(",")]
    files = json.loads(taken(FILES_VARIABLE))
    filters = [Filter(descriptor) for descriptor in given[2:]]
    # Their numbers are the host's, and may be those that they will get: first to numbers that are low and free.
    low = [os.dup(descriptor) for descriptor in given[:2]]
    for descriptor in given[:2]:
        os.close(descriptor)
    for descriptor, kept in zip(low, (SOCKET, PROC), strict=True):
        os.dup2(descriptor, kept)
        os.close(descriptor)
    host = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, SOCKET)
    tid_address = ctypes.c_void_p()
    call(PRCTL, PR_GET_TID_ADDRESS, ctypes.byref(tid_address))
    gc.collect()
    # The children share the pages of all objects there are now: their garbage collectors leave them alone.
    gc.freeze()
    host.send(f"ready {settled_threads()}".encode())
    while True:
        message, descriptors, _, _ = socket.recv_fds(host, MAX_REQUEST_BYTES, RULESET + 1)
        if not message:
            os._exit(0)
        try:
            pid, process = fork(tid_address)
        except OSError as error:
            host.send(f"errno {error.errno}".encode())
        else:
            if pid == 0:
                become_policy(message.decode(), files, descriptors, filters)
                return
            socket.send_fds(host, [f"pid {pid}".encode()], [process])
            os.close(process)
        for descriptor in descriptors:
            os.close(descriptor)


def taken(variable: str) -> str:
    """Remove a variable from the environment and return its value. It is overwritten where the kernel put it, since the
    children have a copy of that memory."""
    libc.getenv.restype = ctypes.c_void_p
    place, value = libc.getenv(variable.encode()), os.environ[variable]
    ctypes.memset(place, 0, len(value.encode()))
    del os.environ[variable]
    return value


def settled_threads() -> int:
    """Return the number of threads once those that are ending have ended."""
    end = time.monotonic() + SETTLING_S
    while threads() > 1 and time.monotonic() < end:
        time.sleep(0.001)
    return threads()


def threads() -> int:
    """Return the number of threads of this process; with more than one, a fork is not safe."""
    file = os.open("self/stat", os.O_RDONLY, dir_fd=PROC)
    fields = os.read(file, 4096).rsplit(b")", 1)[1].split()
    os.close(file)
    return int(fields[17])


def fork(tid_address: ctypes.c_void_p) -> tuple[int, int]:
    """Return the child's id and a descriptor of its process; 0 for the id in the child."""
    process = ctypes.c_int(-1)
    ctypes.pythonapi.PyOS_BeforeFork()
    try:
        pid = call(CLONE, CHILD, None, ctypes.byref(process), tid_address, None)
    except OSError:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
        raise
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    return pid, process.value


def become_policy(slot: str, files: list[str], descriptors: list[int], filters: list[Filter]) -> None:
    """Make the jail of a policy around this process; end it if that fails."""
    for number, descriptor in enumerate(descriptors[:RULESET]):
        os.dup2(descriptor, number)
    doing = "nothing"
    try:
        doing = "become a user"
        map_ids()
        doing = "see only the jail"
        enter_jail(slot, files)
        doing = "forbid further namespaces"
        forbid_namespaces()
        doing = "give up capabilities"
        give_up_capabilities()
        doing = "keep its own descriptors only"
        has_ruleset = keep_descriptors(descriptors)
        doing = "die with the host"
        call(PRCTL, PR_SET_PDEATHSIG, SIGKILL)
        call(PRCTL, PR_SET_DUMPABLE, 1)
        doing = "load the filters"
        for filter_ in filters:
            filter_.load()
    except BaseException as error:  # noqa: BLE001
        os.write(2, f"could not {doing}: {error}".encode())
        os._exit(SHORTAGE if isinstance(error, OSError) and error.errno in PASSING else NO_JAIL)
    if has_ruleset:
        os.environ["ASSAY_SEAL_FD"] = str(RULESET)


def write_proc(name: str, text: bytes) -> None:
    file = os.open(name, os.O_WRONLY, dir_fd=PROC)
    try:
        os.write(file, text)
    finally:
        os.close(file)


def map_ids() -> None:
    write_proc("self/setgroups", b"deny")
    write_proc("self/uid_map", ID_MAP)
    write_proc("self/gid_map", ID_MAP)


def enter_jail(slot: str, files: list[str]) -> None:
    """Make JAIL the root, with a slot as the policy's folder and the files in it, and forget every other mount."""
    os.setsid()
    call(MOUNT, b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    jail = JAIL.encode()
    call(MOUNT, jail, jail, None, MS_BIND | MS_REC, None)
    call(MOUNT, f"{SLOTS}/{slot}".encode(), jail + b"/policy", None, MS_BIND, None)
    for number, path in enumerate(files):
        call(MOUNT, f"{FILES}/{number}".encode(), jail + path.encode(), None, MS_BIND, None)
    os.chdir(JAIL)
    call(PIVOT_ROOT, b".", b".")
    call(UMOUNT2, b".", MNT_DETACH)
    os.chdir("/")


def forbid_namespaces() -> None:
    """Allow no user namespace but the one that is made here, in which the limit can't be raised again."""
    write_proc("sys/user/max_user_namespaces", b"1")
    call(UNSHARE, NEWUSER)
    map_ids()


def give_up_capabilities() -> None:
    for capability in range(CAPABILITIES):
        try:
            call(PRCTL, PR_CAPBSET_DROP, capability, 0, 0, 0)
        except OSError:
            # The kernel knows no more.
            break
    call(PRCTL, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header, none = struct.pack("=Ii", CAPABILITY_VERSION, 0), bytes(24)
    call(CAPSET, header, none)
    call(PRCTL, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def keep_descriptors(descriptors: list[int]) -> bool:
    """Close all descriptors but the first three and the ruleset; return whether there is one."""
    has_ruleset = len(descriptors) > RULESET
    if has_ruleset:
        os.dup2(descriptors[RULESET], RULESET)
    call(CLOSE_RANGE, RULESET + has_ruleset, LAST_DESCRIPTOR, 0)
    return has_ruleset
