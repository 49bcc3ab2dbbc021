"""The command `assay`: replaces this process with the program of the package."""

import os
import sys

from ._home import InstallationError, cannot_start, program, remove_unpacked

#: An option of this package, not of the program: to be used before `pip uninstall`.
REMOVE = "--remove-unpacked"

#: Tells the program which command started it, for the commands that it prints.
LAUNCHER = "ASSAY_LAUNCHER"


def main() -> None:
    """Runs the command line."""
    if sys.argv[1:] == [REMOVE]:
        for folder in remove_unpacked():
            print(f"removed {folder}")
        return
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
        sys.exit(f"assay: {cannot_start(path, error)}")


if __name__ == "__main__":
    main()
