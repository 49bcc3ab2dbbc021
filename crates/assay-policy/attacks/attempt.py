"""Makes an attempt at the first step, tells what became of it, and otherwise behaves."""

import ctypes
import errno
import os
import signal
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)

# Where things are: in a tier without namespaces they keep their places on the host.
POLICY = os.path.dirname(os.path.abspath(__file__))
RUNNER = os.path.abspath(sys.modules["__main__"].__file__)
PYTHON = sys.prefix + "/bin/python3"


def call(name, *args):
    """A function of the C library; its errno as an exception."""
    result = getattr(libc, name)(*args)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def syscall(number, *args):
    """A system call by its number."""
    return call("syscall", ctypes.c_long(number), *args)


def socket(family, kind, protocol=0):
    import socket

    return socket.socket(family, kind, protocol)


def write_to(path):
    """Opens a file for writing: the file system or its owner forbids it, depending on who runs assay."""
    try:
        return open(path, "r+b")
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EROFS):
            raise PermissionError(errno.EPERM, "not writable") from None
        raise


def host():
    """The frame of the runner that speaks to the lane, with everything it knows."""
    frame = sys._getframe()
    while frame.f_code.co_name != "run":
        frame = frame.f_back
    return frame


def forge(kind, seq, payload, nonce=None, length=None, magic=b"ASY1"):
    """Writes a frame to the lane as the runner would."""
    runner = sys.modules["__main__"]
    nonce = host().f_locals["nonce"] if nonce is None else nonce
    length = len(payload) if length is None else length
    os.write(runner.ANSWERS, runner.HEADER.pack(magic, kind, 0, 0, seq, length, nonce) + payload)


tried = False


def policy(observation):
    global tried
    if not tried:
        tried = True
        try:
            value = attempt()  # noqa: F821
        except BaseException as error:  # noqa: BLE001
            number = getattr(error, "errno", None)
            print("refused:", type(error).__name__, errno.errorcode.get(number, number) if number else "", flush=True)
        else:
            print("got:", repr(value)[:200], flush=True)
    return [0.0] * 7
