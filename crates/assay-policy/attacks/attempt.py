"""Makes one attempt at the first step, prints its outcome, and behaves normally otherwise."""

import ctypes
import errno
import os
import signal
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)

# Locations of files: in a tier without namespaces they are the same as on the host.
POLICY = os.path.dirname(os.path.abspath(__file__))
RUNNER = os.path.abspath(sys.modules["__main__"].__file__)
PYTHON = sys.prefix + "/bin/python3"


def call(name, *args):
    """Calls a function of the C library; raises its errno as an exception."""
    result = getattr(libc, name)(*args)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def syscall(number, *args):
    """Makes a system call by its number."""
    return call("syscall", ctypes.c_long(number), *args)


def socket(family, kind, protocol=0):
    import socket

    return socket.socket(family, kind, protocol)


def write_to(path):
    """Opens a file for writing, which the file system or its owner forbids, depending on the user that runs assay."""
    try:
        return open(path, "r+b")
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EROFS):
            raise PermissionError(errno.EPERM, "not writable") from None
        raise


def host():
    """Returns the stack frame of the runner that communicates with the lane, with all its variables."""
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
