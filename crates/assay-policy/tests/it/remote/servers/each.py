"""Runs a server's script with each of several behaviours, in processes that share what it imports: importing takes much longer
than all that a test asks of one. Prints a port for each, in their order.

    each.py SCRIPT MODE...
"""

import ast
import ctypes
import os
import pathlib
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1
script = pathlib.Path(__file__).parent / sys.argv[1]


def serve(mode, output, parent):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    os.dup2(output, 1)
    sys.argv = [str(script), mode]
    runpy.run_path(str(script), run_name="__main__")
    os._exit(0)


for node in ast.parse(script.read_text()).body:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        exec(compile(ast.Module([node], []), script, "exec"), {})
kept = []
for mode in sys.argv[2:]:
    first_line, output = os.pipe()
    parent = os.getpid()
    if os.fork() == 0:
        serve(mode, output, parent)
    os.close(output)
    kept.append(open(first_line))
    print(kept[-1].readline(), end="", flush=True)
signal.pause()
