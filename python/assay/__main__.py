"""The command `assay`: replaces this process by the program of the package."""

import os
import sys

from ._home import InstallationError, program

#: Tells the program which command started it, for the commands that it prints.
LAUNCHER = "ASSAY_LAUNCHER"


def main() -> None:
    """Runs the command line."""
    try:
        path = program()
    except InstallationError as error:
        sys.exit(f"assay: {error}")
    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) == "assay":
        os.environ[LAUNCHER] = started
    try:
        os.execv(path, ["assay", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"assay: cannot start {path} ({error}): the programs need glibc (not musl) and x86-64")


if __name__ == "__main__":
    main()
