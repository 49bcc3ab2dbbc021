"""Runs one policy in its jail: frames come in on descriptor 0, actions go out on descriptor 1.

The host trusts nothing that is said here: whatever runs in this process can forge any frame, which gives it no more
than returning an action does. What this file owes is speed, fair errors for honest authors, and that no file of theirs
stands in for a library. It is longer than other files because everything that runs in the process before the policy, and
around it, is to be read in one place; beside it are what only some policies need, and the rules of actions and of errors
(fork_server.py, assay_adapters).

A frame is a 24-byte little-endian header and a payload:
    magic "ASY1" | kind u8 | flags u8 | actions u16 | seq u32 | length u32 | nonce u64
An action that begins an answer says how many actions the answer has; all other frames say 0 there.
"""

import errno
import os
import resource
import sys

# The folder of the policy's files, and its number of threads: 0 for no limit of its own. A limit counts the threads of
# this user in the jail's user namespace, which has only this process; without one it would count those of others. Then
# the slow modules of the runtime.
FOLDER = sys.argv[1]
THREADS = int(sys.argv[2])
MODULES = sys.argv[3:]
# The folder of this file, in which the adapters of policies without code are.
OWN_FOLDER = os.path.dirname(__file__)
ADAPTERS = "assay_adapters"
# A process that will fork has no streams of its own. See fork_server.py.
WILL_FORK = "ASSAY_FORK_SERVER" in os.environ


def take_streams() -> tuple[int, int]:
    """Take the streams of frames away from descriptors 0 and 1, to which the policy may read and write."""
    requests, answers = os.dup(0), os.dup(1)
    os.set_inheritable(requests, False)
    os.set_inheritable(answers, False)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    if THREADS:
        resource.setrlimit(resource.RLIMIT_NPROC, (THREADS, THREADS))
    return requests, answers


if not WILL_FORK:
    REQUESTS, ANSWERS = take_streams()

# Imported before the policy, so that the pool hides their time, and so that no file of the policy can shadow them.
import importlib  # noqa: E402
import threading  # noqa: E402

LIBRARIES = """collections ctypes dataclasses importlib.util json math pathlib pickle random struct time traceback typing
    numpy numpy.fft numpy.linalg numpy.random""".split()


def import_adapters() -> None:
    """Import the adapters, before the policy's folder can be searched for anything, and before a child of the fork server
    can't see this folder."""
    path = sys.path[:]
    sys.path[:] = [OWN_FOLDER, *(entry for entry in path if entry != FOLDER)]
    try:
        importlib.import_module(ADAPTERS)
    finally:
        sys.path[:] = path


def import_libraries() -> None:
    """Import the slow libraries in idle time, so that acting policies do not wait for a later one."""
    try:
        # Only for this thread. The acting thread keeps its priority, which it could not restore.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError:
        # The tier's filter does not allow the call.
        pass
    if "lerobot" in MODULES:
        # One of its dependencies (dill) asks for a folder for temporary files when it is imported, and fails if none is
        # writable. This one exists; writing to it fails.
        importlib.import_module("tempfile").tempdir = "/"
    for name in [*LIBRARIES, *MODULES]:
        importlib.import_module(name)
    import_adapters()


warming = threading.Thread(target=import_libraries)
warming.start()
warming.join()

import ctypes  # noqa: E402
import importlib.util  # noqa: E402
import json  # noqa: E402
import math  # noqa: E402
import random  # noqa: E402
import struct  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402

HELLO, LOAD, LOADED, INIT, READY, OBSERVATION, ACTION, ERROR, CLOSE = range(1, 10)
PROTOCOL = 1
HEADER = struct.Struct("<4sBBHIIQ")
# The beginning of an observation's frame: the header, and time and time remaining in s.
BEGINNING = struct.Struct("<4sBBHIIQdd")
MAGIC = b"ASY1"
MAIN = FOLDER + "/policy.py"
F64 = np.dtype("<f8")
DTYPES = {"f64": F64, "f32": np.dtype("<f4"), "u8": np.dtype("u1")}
# Longest JSON that the host sends, and longest frame that it accepts, with room for the header.
MAX_REQUEST_BYTES = 1 << 20
MAX_REPLY_BYTES = 60_000
MAX_MESSAGE_CHARS = 2000

ADAPTED = sys.modules[ADAPTERS]
ACTING, ERRORS = ADAPTED.acting, ADAPTED.errors

# The environment variable with the descriptor of a Landlock ruleset, created by the host.
SEAL = "ASSAY_SEAL_FD"
LANDLOCK_RESTRICT_SELF = 446

# Calls that only the start needs are refused after the seal, by a system call filter of all threads (instructions: code,
# jump if true, jump if false, value; `struct seccomp_data` has the call's number at 0, its second argument at 24).
SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC = 317, 1, 1
FETCH, AND, IF_EQUAL, ANSWER = 0x20, 0x54, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
FUTEX, PRLIMIT64, SCHED_SETSCHEDULER, SET_TID_ADDRESS = 202, 302, 144, 218
ALL_BUT_CLOCK_REALTIME, FUTEX_WAIT, FUTEX_WAIT_BITSET = 0xFFFFFEFF, 0, 9
REFUSED_CALLS = (
    (FETCH, 0, 0, 0),
    (IF_EQUAL, 5, 0, FUTEX),
    (IF_EQUAL, 10, 0, PRLIMIT64),
    # A policy in the idle class could stop itself while others use the processor.
    (IF_EQUAL, 14, 0, SCHED_SETSCHEDULER),
    # The kernel wakes the waiters at this address when a thread ends.
    (IF_EQUAL, 13, 0, SET_TID_ADDRESS),
    (IF_EQUAL, 12, 0, SECCOMP),
    (ANSWER, 0, 0, ALLOW),
    # Waiting on memory that other processes map: they could wake this one. Answered by "look again", so that
    # pthread_join, whose wait is a shared one, still ends.
    (FETCH, 0, 0, 24),
    (AND, 0, 0, ALL_BUT_CLOCK_REALTIME),
    (IF_EQUAL, 2, 0, FUTEX_WAIT),
    (IF_EQUAL, 1, 0, FUTEX_WAIT_BITSET),
    (ANSWER, 0, 0, ALLOW),
    (ANSWER, 0, 0, ERRNO | errno.EAGAIN),
    # Reading limits is allowed, setting one is not: over a limit of its own making the kernel would kill a policy, and
    # that looks like a kill from outside. The third argument is a pointer to the new limit, in two halves.
    (FETCH, 0, 0, 32),
    (IF_EQUAL, 0, 3, 0),
    (FETCH, 0, 0, 36),
    (IF_EQUAL, 0, 1, 0),
    (ANSWER, 0, 0, ALLOW),
    (ANSWER, 0, 0, ERRNO | errno.ENOSYS),
)
# What a policy with models may not map: address space is granted for them, and this memory would count as nothing else.
# Anonymous memory that could be shared is hidden by MADV_DONTNEED, and memory that grows downwards counts as a stack.
# (The fourth argument has the flags.)
MMAP, SHARED_ANONYMOUS, GROWS_DOWN = 9, 0x21, 0x100
REFUSED_MAPS = (
    (FETCH, 0, 0, 0),
    (IF_EQUAL, 0, 6, MMAP),
    (FETCH, 0, 0, 40),
    (AND, 0, 0, SHARED_ANONYMOUS),
    (IF_EQUAL, 4, 0, SHARED_ANONYMOUS),
    (FETCH, 0, 0, 40),
    (AND, 0, 0, GROWS_DOWN),
    (IF_EQUAL, 1, 0, GROWS_DOWN),
    (ANSWER, 0, 0, ALLOW),
    (ANSWER, 0, 0, ERRNO | errno.ENOMEM),
)


class HostGone(Exception):
    """The other end of the streams was closed, or sent no frame, so nothing can be reported to it."""


class NoPolicy(Exception):
    """policy.py defines neither of the two names; the message is for its author."""


# ---- frames ----


def receive_into(view: memoryview) -> None:
    """Fill `view` with bytes from the host."""
    while view:
        n = os.readv(REQUESTS, (view,))
        if n == 0:
            raise HostGone
        view = view[n:]


def send(kind: int, seq: int, nonce: int, payload: bytes) -> None:
    frame = memoryview(HEADER.pack(MAGIC, kind, 0, 0, seq, len(payload), nonce) + payload)
    while frame:
        frame = frame[os.write(ANSWERS, frame) :]


def request(expected: tuple[int, ...]) -> tuple[int, int, dict]:
    """Receive one of the rare frames: kind, nonce, and its JSON."""
    header = bytearray(HEADER.size)
    receive_into(memoryview(header))
    magic, kind, _, _, _, length, nonce = HEADER.unpack(header)
    if magic != MAGIC or kind not in expected or length > MAX_REQUEST_BYTES:
        raise HostGone
    payload = bytearray(length)
    receive_into(memoryview(payload))
    return kind, nonce, json.loads(payload) if payload else {}


# ---- errors ----


def report(code: str, message: str, text: str, seq: int, nonce: int) -> None:
    """Report an error, with its traceback, to the host and the log."""
    try:
        sys.stdout.flush()
        sys.stderr.write(text or message + "\n")
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001, S110
        pass
    fault = {"code": code, "message": message[:MAX_MESSAGE_CHARS], "traceback": text}
    while len(payload := encoded(fault)) > MAX_REPLY_BYTES:
        fault["traceback"] = ERRORS.shortened(fault["traceback"], len(fault["traceback"]) // 2)
    send(ERROR, seq, nonce, payload)


def encoded(fault: dict) -> bytes:
    """Return a message as JSON. Half of a surrogate pair, which no encoding has, is written as Python escapes it."""
    text = {key: value.encode("utf-8", "backslashreplace").decode() for key, value in fault.items()}
    return json.dumps(text, ensure_ascii=False).encode()


def report_exception(error: BaseException, code: str, seq: int, nonce: int, called: object = None) -> None:
    """Report what a policy raised; `called` is the function or class of its author that was called."""
    if isinstance(error, ERRORS.AdapterError):
        report(error.code or "adapter", str(error), "", seq, nonce)
        return
    if isinstance(error, NoPolicy):
        report("no_policy", str(error), "", seq, nonce)
        return
    try:
        ERRORS.explain(error, FOLDER)
        text = ERRORS.own_traceback(error, FOLDER, called)
    except BaseException:  # noqa: BLE001
        text = ""
    message = ERRORS.line_of(error)
    if isinstance(error, MemoryError):
        code, message = "memory", "MemoryError: the policy needs more memory than it has"
    elif isinstance(error, SystemExit):
        message = f"the policy called exit ({message}); return an action instead"
    elif isinstance(error, SyntaxError) and str(error.filename).startswith(FOLDER):
        where = f"{ERRORS.short(str(error.filename), FOLDER)}, line {error.lineno}"
        code, message = "syntax_error", f"{type(error).__name__}: {error.msg} ({where})"
    report(code, message, text, seq, nonce)


# ---- the policy ----


def __getattr__(name: str) -> object:
    """Return what this module lacks from policy.py: a program that pickles an object names its class as one of `__main__`."""
    return getattr(sys.modules.get("policy"), name)


def lower(limit: int, value: int) -> None:
    """Lower one of the process's own limits permanently."""
    most = resource.getrlimit(limit)[1]
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(limit, (value, value))


def load(seed: int) -> object:
    """Import policy.py, or the adapter that stands for it; return its Policy class or policy function."""
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)
    torch = sys.modules.get("torch")
    if torch is not None:
        # Otherwise its generator begins with the same state in every episode.
        torch.manual_seed(seed & 0x7FFFFFFFFFFFFFFF)
    if not os.path.isfile(MAIN):
        # Without code: nothing in its folder is ever imported.
        found = ADAPTED.load(FOLDER)
        if found is None:
            raise NoPolicy("there is no policy.py, and no table [adapter] in policy.toml")
        return found
    sys.path.append(FOLDER)
    importlib.invalidate_caches()
    spec = importlib.util.spec_from_file_location("policy", MAIN)
    module = importlib.util.module_from_spec(spec)
    sys.modules["policy"] = module
    spec.loader.exec_module(module)
    for name in ("Policy", "policy"):
        found = getattr(module, name, None)
        if callable(found) or callable(getattr(found, "act", None)):
            return found
    raise NoPolicy(
        "policy.py defines neither `def policy(observation)` nor `class Policy` with `act(self, observation)`"
    )


def begin(found: object, init: dict, called: list) -> tuple[object, object]:
    """Create and reset the policy; return it, and its act function.

    What is called of the author's is added to `called` before.
    """
    called.append(found)
    policy = found() if isinstance(found, type) else found
    reset = getattr(policy, "reset", None)
    if callable(reset):
        called.append(reset)
        given = {"seed": init["seed"], "scenario": init["scenario"], "instruction": init["instruction"]}
        ACTING.call(reset, given)
    act = getattr(policy, "act", policy)
    if not callable(act):
        raise NoPolicy(f"class {type(policy).__name__} has no method `act(self, observation)`")
    called.append(act)
    return policy, act


def layout(arrays: list[dict]) -> tuple[list[tuple], int]:
    """Return the layout of an observation frame, (name, dtype, shape, offset) per array, and the frame's length."""
    offset, rows = BEGINNING.size, []
    for array in arrays:
        dtype, shape = DTYPES[array["dtype"]], tuple(array["shape"])
        rows.append((array["name"], dtype, shape, offset))
        offset += dtype.itemsize * math.prod(shape)
    return rows, offset


def viewer(dtype: np.dtype, shape: tuple[int, ...], offset: int) -> object:
    """Return the function that views an array in a frame; there is a faster one for a single dimension."""
    if len(shape) == 1 and shape[0] > 0:
        return lambda frame: np.frombuffer(frame, dtype, shape[0], offset)
    return lambda frame: np.ndarray(shape, dtype, frame, offset)


def checked(answer: object, dim: int, steps: int) -> tuple[bytes, int]:
    """Return the bytes of an answer's actions, at most `steps`, and their number before; raise BadAction if it has none."""
    # A finite sum implies finite numbers, and is faster than isfinite for few of them; it may overflow, so check again.
    if type(answer) is np.ndarray and answer.dtype is F64 and answer.shape == (dim,):
        if math.isfinite(sum(answer.tolist())):
            return answer.tobytes(), 1
    rows = ACTING.actions(answer, dim)
    return rows[:steps].tobytes(), len(rows)


def close_policy(closer: object) -> None:
    if callable(closer):
        try:
            closer()
        except BaseException as error:  # noqa: BLE001
            sys.stderr.write(f"close() failed: {ERRORS.line_of(error)}\n")


def run(found: object, init: dict, nonce: int) -> None:
    """Answer observations until the host closes."""
    dim = init["action_dim"]
    instruction = init["instruction"] or ""
    rows, length = layout(init["observation"])
    seq, called = 0, []
    try:
        policy, act = begin(found, init, called)
        steps = init.get("replan_steps") or ACTING.replan_steps(policy) or ACTING.MAX_ACTIONS
    except BaseException as error:  # noqa: BLE001
        report_exception(error, "exception", seq, nonce, called[-1])
        return
    closer = getattr(policy, "close", None)
    send(READY, 0, nonce, b"")

    # Bound once: these run at every control step.
    readv, write, requests, answers = os.readv, os.write, REQUESTS, ANSWERS
    views = [(name, viewer(dtype, shape, offset)) for name, dtype, shape, offset in rows]
    unpack, pack, header_bytes = BEGINNING.unpack_from, HEADER.pack, HEADER.size
    action_bytes = 8 * dim
    # The actions of the last answer, and the place of the first that is not executed yet. An adapter may execute the
    # actions of an answer itself, and says how many it has.
    actions, at, count = b"", 0, 0
    least = getattr(policy, "answer_size", 1) if type(policy).__module__.startswith(ADAPTERS) else 1
    while True:
        # A new buffer each time: the policy may keep or change the arrays, which are views of it.
        frame = bytearray(length)
        n = readv(requests, (frame,))
        if n < length:
            if n < header_bytes:
                receive_into(memoryview(frame)[n:header_bytes])
                n = header_bytes
            if frame[4] == OBSERVATION:
                receive_into(memoryview(frame)[n:])
        magic, kind, _, _, seq, size, _, now, remaining = unpack(frame)
        if magic != MAGIC or kind == CLOSE or kind != OBSERVATION or size != length - header_bytes:
            close_policy(closer)
            return
        if at == len(actions):
            observation = {name: view(frame) for name, view in views}
            observation["time"] = now
            observation["time_remaining"] = remaining
            observation["instruction"] = instruction
            try:
                (actions, count), at = checked(act(observation), dim, steps), 0
                count = max(count, least)
            except BaseException as error:  # noqa: BLE001
                report_exception(error, "exception", seq, nonce, act)
                close_policy(closer)
                return
        frame = pack(MAGIC, ACTION, 0, count, seq, action_bytes, nonce) + actions[at : at + action_bytes]
        at += action_bytes
        count = 0
        n = write(answers, frame)
        while n < len(frame):
            n += write(answers, frame[n:])


def seal() -> bool:
    """Give up permanently what only the start needs: afterwards nothing can be executed, and only bound files are open.

    Return whether the seal is in force; the host decides whether a process that is not sealed may run a policy. Raise
    OSError if it fails. Without a ruleset the kernel has no Landlock.
    """
    ruleset = os.environ.pop(SEAL, None)
    if ruleset is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(LANDLOCK_RESTRICT_SELF), ctypes.c_int(int(ruleset)), ctypes.c_uint(0)) != 0:
        raise OSError(ctypes.get_errno(), "the process can't be sealed with Landlock")
    os.close(int(ruleset))
    try:
        # Every process except a sealed one may write here.
        os.close(os.open("/dev/urandom", os.O_WRONLY))
    except PermissionError:
        return True
    return False


def refuse(lines: tuple[tuple[int, int, int, int], ...]) -> None:
    """Load a filter, which the policy cannot remove; raise OSError if it fails."""
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    place = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(place)))
    libc = ctypes.CDLL(None, use_errno=True)
    words = (SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC)
    if libc.syscall(*map(ctypes.c_long, words), ctypes.byref(program)) != 0:
        raise OSError(ctypes.get_errno(), "the process can't be sealed with a filter")


def main() -> None:
    # Printing a file's name that is not UTF-8 is no error.
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    sealed = seal()
    hello = {"protocol": PROTOCOL, "python": sys.version.split()[0], "numpy": np.__version__, "sealed": sealed}
    send(HELLO, 0, 0, json.dumps(hello).encode())
    _, nonce, message = request((LOAD,))
    lower(resource.RLIMIT_CPU, message["cpu_s"])
    lower(resource.RLIMIT_AS, message["memory_bytes"] + message["model_bytes"])
    lower(resource.RLIMIT_DATA, message["memory_bytes"])
    if message["model_bytes"]:
        refuse(REFUSED_MAPS)
    # The last filter, since it refuses to load others.
    refuse(REFUSED_CALLS)
    start = time.process_time()
    try:
        found = load(message["seed"])
    except BaseException as error:  # noqa: BLE001
        report_exception(error, "import_error", 0, nonce)
        return
    spent = {"import_cpu_ms": 1e3 * (time.process_time() - start)}
    send(LOADED, 0, nonce, json.dumps(spent).encode())
    kind, _, init = request((INIT, CLOSE))
    if kind == INIT:
        run(found, init | {"replan_steps": message.get("replan_steps")}, nonce)


def serve() -> None:
    """Run the fork server, which returns in each child."""
    spec = importlib.util.spec_from_file_location("fork_server", OWN_FOLDER + "/fork_server.py")
    server = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(server)
    server.serve()


if __name__ == "__main__":
    if WILL_FORK:
        serve()
        REQUESTS, ANSWERS = take_streams()
    try:
        main()
    except (HostGone, BrokenPipeError, ConnectionResetError):
        pass
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:  # noqa: BLE001, S110
            pass
        # Ends at once, without waiting for threads and exit handlers of the policy.
        os._exit(0)
