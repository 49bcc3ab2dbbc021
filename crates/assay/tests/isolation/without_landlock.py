"""Runs a command on a kernel without Landlock, as far as the command can tell: making a ruleset is no system call here."""

import ctypes
import os
import struct
import sys

CREATE_RULESET, ENOSYS = 444, 38
LOAD_NUMBER, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
SET_NO_NEW_PRIVS, SET_SECCOMP, MODE_FILTER = 38, 22, 2

lines = [(LOAD_NUMBER, 0, 0, 0), (EQUAL, 0, 1, CREATE_RULESET), (RETURN, 0, 0, ERRNO | ENOSYS), (RETURN, 0, 0, ALLOW)]
code = b"".join(struct.pack("<HBBI", *line) for line in lines)


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


libc = ctypes.CDLL(None, use_errno=True)
program = Program(len(lines), code)
if libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(SET_SECCOMP, MODE_FILTER, ctypes.byref(program)):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
