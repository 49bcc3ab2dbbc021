"""Both ends of each channel between two processes: `arm` gets the receiver ready, `send` says a bit, `measure` reads one.

As a policy, the time of an observation is the command (see `policy`); as a program, a line of standard input is.
"""

import ctypes
import fcntl
import os
import struct
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
# Files that every jail sees, and zeros in one of them.
PROGRAM = sys.prefix + "/bin/python3" if CHANNEL_JAILED else os.path.realpath(sys.executable)
LIBRARY = os.__file__
ZEROS = 8
FUTEX, SET_TID_ADDRESS, SET_ROBUST_LIST, MINCORE, SYSINFO = 202, 218, 273, 27, 99
WAIT, WAKE, REQUEUE, WAKE_OP = 0, 1, 3, 5
# Maximum wait of a receiver to be woken, and time that a sender leaves it to begin.
PATIENCE_NS, BEGIN_S = 60_000_000 * CHANNEL_PACE, 0.02 * CHANNEL_PACE
kept = []


def syscall(number, *args):
    result = libc.syscall(ctypes.c_long(number), *args)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def mapped(path=PROGRAM):
    fd = os.open(path, os.O_RDONLY)
    place = libc.mmap(None, 4096, 1, 1, fd, 0)
    os.close(fd)
    return place


def in_thread(call):
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread


class Futex:
    """Waits on a word of a file that both map; `how` is the call that wakes it."""

    def __init__(self, how):
        self.how, self.word, self.woken = how, mapped() + ZEROS, 0.0

    def arm(self):
        self.woken = 0.0
        self.waiter = in_thread(self.wait)
        time.sleep(BEGIN_S)

    def wait(self):
        patience = struct.pack("qq", 0, PATIENCE_NS)
        try:
            syscall(FUTEX, ctypes.c_void_p(self.word), WAIT, 0, patience, None, 0)
            self.woken = 1.0
        except OSError:
            pass

    def measure(self):
        self.waiter.join()
        return self.woken

    def send(self, bit):
        if bit:
            getattr(self, self.how)()

    def wake(self):
        syscall(FUTEX, ctypes.c_void_p(self.word), WAKE, 1, None, None, 0)

    def wake_by_bits(self):
        syscall(FUTEX, ctypes.c_void_p(self.word), 10, 1, None, None, ctypes.c_int(-1))

    def requeue(self):
        syscall(FUTEX, ctypes.c_void_p(self.word), REQUEUE, 1, None, ctypes.c_void_p(self.word + 4), 0)

    def wake_after_operation(self):
        # The call has to write to the second word, which is in its own memory.
        own = ctypes.c_int(0)
        syscall(FUTEX, ctypes.c_void_p(self.word), WAKE_OP, 1, None, ctypes.byref(own), 0)

    def wake_the_new_way(self):
        syscall(454, ctypes.c_void_p(self.word), ctypes.c_ulong(0xFFFFFFFF), 1, 2)

    def end_of_thread(self):
        # The kernel tries to clear this word, which is read-only, and wakes its waiters.
        in_thread(lambda: syscall(SET_TID_ADDRESS, ctypes.c_void_p(self.word)))

    def death_of_owner(self):
        # A list of locks with one that is just being taken; its word is zero, so the next who waits is woken.
        head = ctypes.create_string_buffer(24)
        kept.append(head)
        place = ctypes.addressof(head)
        ctypes.memmove(place, struct.pack("qqq", place, 0, self.word), 24)
        in_thread(lambda: syscall(SET_ROBUST_LIST, head, 24))


class Lock:
    """Holds a lock on a file that both open."""

    def arm(self):
        pass

    def send(self, bit):
        self.file = getattr(self, "file", None) or os.open(LIBRARY, os.O_RDONLY)
        fcntl.flock(self.file, fcntl.LOCK_EX if bit else fcntl.LOCK_UN)

    def measure(self):
        file = os.open(LIBRARY, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return 0.0
        except BlockingIOError:
            return 1.0
        finally:
            os.close(file)


class RangeLock(Lock):
    """The same with a lock on a range, which a reader may ask about."""

    def send(self, bit):
        self.file = getattr(self, "file", None) or os.open(LIBRARY, os.O_RDONLY)
        fcntl.lockf(self.file, fcntl.LOCK_SH if bit else fcntl.LOCK_UN)

    def measure(self):
        file = os.open(LIBRARY, os.O_RDONLY)
        try:
            asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
            kind = struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, asked))[0]
            return float(kind != fcntl.F_UNLCK)
        finally:
            os.close(file)


class Reading:
    """Reads a file that both see; `quantity` is the property that could reveal it."""

    def __init__(self, quantity):
        self.quantity, self.turn = quantity, 0

    def arm(self):
        pass

    def send(self, bit):
        path = sorted(name for name in os.listdir(os.path.dirname(LIBRARY)) if name.endswith(".py"))[self.turn]
        self.turn += 1
        if bit:
            with open(os.path.join(os.path.dirname(LIBRARY), path), "rb") as file:
                file.read()

    def measure(self):
        path = sorted(name for name in os.listdir(os.path.dirname(LIBRARY)) if name.endswith(".py"))[self.turn]
        self.turn += 1
        path = os.path.join(os.path.dirname(LIBRARY), path)
        if self.quantity == "residency":
            here = ctypes.create_string_buffer(1)
            syscall(MINCORE, ctypes.c_void_p(mapped(path)), ctypes.c_size_t(4096), here)
            return float(here.raw[0] & 1)
        status = os.stat(path)
        if self.quantity == "access":
            return float(time.time_ns() - status.st_atime_ns < 1_000_000_000)
        return float(getattr(status, self.quantity))


class Name:
    """Asks for names that are not there; a name that was asked for before is found missing faster."""

    NAMES = 32

    def __init__(self, where):
        self.folder = os.path.dirname(LIBRARY if where == "library" else PROGRAM if where == "program" else where)
        self.turn, self.rubbish = 0, bytearray(128 << 20)

    def arm(self):
        pass

    def names(self):
        self.turn += 1
        return [f"{self.folder}/absent-{NONCE}-{self.turn}-{number}" for number in range(self.NAMES)]

    def send(self, bit):
        for name in self.names():
            os.path.exists(name if bit else name + "-other")

    def measure(self):
        # What the kernel remembers is asked for, and not what lies in the processor's caches, which tell more by other means.
        bytes(self.rubbish)
        took = []
        for name in self.names():
            begin = time.perf_counter_ns()
            os.path.exists(name)
            took.append(time.perf_counter_ns() - begin)
        return float(sorted(took)[self.NAMES // 2])


class Opening(Reading):
    """Creates files in every possible way: the properties of a file that both see must not reveal it."""

    def arm(self):
        self.turn = 0

    def send(self, bit):
        if bit:
            for act in (lambda: os.open("/dev/null", os.O_WRONLY), lambda: os.link(LIBRARY, "/x"), lambda: os.mkdir("/x")):
                try:
                    kept.append(act())
                except OSError:
                    pass
        else:
            for fd in [fd for fd in kept if isinstance(fd, int)]:
                os.close(fd)
            kept.clear()


class Device:
    """Writes to a device that both have."""

    def arm(self):
        pass

    def send(self, bit):
        if bit:
            with open("/dev/null", "wb") as null:
                null.write(b"x")

    def measure(self):
        status = os.stat("/dev/null")
        now = time.time_ns()
        return float(any(now - then < 1_000_000_000 for then in (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)))


class Memory(Device):
    """Allocates much memory, which reduces the free memory of the machine."""

    def send(self, bit):
        self.block = b"\x01" * (256 << 20) if bit else None

    def measure(self):
        info = ctypes.create_string_buffer(128)
        syscall(SYSINFO, info)
        return float(struct.unpack_from("Q", info.raw, 40)[0])


class Disk(Device):
    """Asks for the amount of free space."""

    def measure(self):
        return float(os.statvfs(LIBRARY).f_bavail)


class Threads:
    """Starts as many threads as it may; the other counts how many it may."""

    def __init__(self):
        self.stop, self.running = threading.Event(), []

    def arm(self):
        pass

    def start(self, most):
        try:
            for _ in range(most):
                self.running.append(in_thread(self.stop.wait))
        except RuntimeError:
            pass

    def end(self):
        self.stop.set()
        for thread in self.running:
            thread.join()
        self.__init__()

    def send(self, bit):
        if bit:
            self.start(12)
        else:
            self.end()

    def measure(self):
        self.start(40)
        count = len(self.running)
        self.end()
        return float(count)


class Descriptors:
    """Opens as many files as it may; the other counts how many it may."""

    def arm(self):
        pass

    def send(self, bit):
        while kept:
            os.close(kept.pop())
        try:
            while bit:
                kept.append(os.dup(2))
        except OSError:
            pass

    def measure(self):
        mine = []
        try:
            while len(mine) < 10_000:
                mine.append(os.dup(2))
        except OSError:
            pass
        for fd in mine:
            os.close(fd)
        return float(len(mine))


class Pipes:
    """Makes pipes until the limit of their user's pages; a pipe that the other makes then is smaller."""

    def arm(self):
        pass

    def send(self, bit):
        while kept:
            os.close(kept.pop())
        for _ in range(25 if bit else 0):
            kept.extend(os.pipe())

    def measure(self):
        reader, writer = os.pipe()
        size = fcntl.fcntl(writer, 1032)
        os.close(reader), os.close(writer)
        return float(size)


class Processes(Device):
    """Works or rests; the other searches the CPU clocks of processes."""

    def send(self, bit):
        end = time.process_time() + (0.02 if bit else 0)
        while time.process_time() < end:
            pass

    def measure(self):
        own = os.getpid()
        before, self.then = getattr(self, "then", None), sum(self.clock(pid) for pid in range(max(2, own - 50), own + 50) if pid != own)
        return round(self.then - (before or 0), 2)

    def clock(self, pid):
        try:
            return time.clock_gettime((~pid << 3) | 2)
        except OSError:
            return 0


def channel():
    name, _, how = CHANNEL.partition(":")
    return globals()[name](how) if how else globals()[name]()


end = None


def command(number):
    """0: arm; 1: measure; 2 and 3: send a bit. Returns the measurement, -1 for a refusal."""
    global end
    try:
        end = end or channel()
        if number == 0:
            end.arm()
        elif number == 1:
            return end.measure()
        else:
            end.send(number == 3)
    except (OSError, AttributeError):
        return -1.0
    return 0.0


def policy(observation):
    return [command(int(observation["time"]) % 4)] + [0.0] * 6


if __name__ == "__main__" and not CHANNEL_JAILED:
    for line in sys.stdin:
        print(command(int(line)), flush=True)
