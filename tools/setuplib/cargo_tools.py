"""Development tools that come with Rust or from cargo."""

import os
import re
import subprocess

from .common import Failure, run, say, timed

CARGO_DENY = (0, 20, 2)  # the minimum version, and the one that is installed


def install() -> None:
    missing = [name for name in ("rustfmt", "clippy") if not version(name.removeprefix("rust"))]
    if missing:
        with timed(f"rustup component add {' '.join(missing)}"):
            run(["rustup", "component", "add", *missing])
    if version("deny") >= CARGO_DENY:
        say("cargo tools: up to date")
        return
    wanted = f"cargo-deny@{'.'.join(map(str, CARGO_DENY))}"
    environment = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    with timed(f"{wanted} (compiles for a minute or two)"):
        # Unoptimised, it compiles in a third of the time and still checks this workspace in half a second.
        run(["cargo", "install", "--locked", "--debug", wanted], env=environment)


def version(subcommand: str) -> tuple[int, ...]:
    """Returns the version of a cargo subcommand, or an empty tuple if it is missing."""
    try:
        done = subprocess.run(["cargo", subcommand, "--version"], capture_output=True, text=True, timeout=60)
    except OSError as error:
        raise Failure("cargo is missing: install Rust with rustup first") from error
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else ()
