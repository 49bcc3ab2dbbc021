"""The stages of tools/test-long, and its options."""

from . import history, nextest, stages
from .stages import TARGET, Stage

MINUTE_S = 60.0
# A stage that takes hours may be silent for this long: tests print a line for each part of their work.
QUIET_S = 30 * MINUTE_S
# Downloads and compilations with whole-program optimisation are silent for longer.
SILENT_S = 60 * MINUTE_S
STORE_KILLS = 100
KILLS = 1000
WORKERS = 1000
EPISODES = 20
MODEL_MIB, READERS = 1024, 20
# The tests of large models.
SHARED_MODELS = "package(assay-policy) & test(/^jailed::/) & test(share_the_pages)"
UPLOADED_MODELS = "binary(service) & test(/^serve::/) & test(/an_upload_continues|a_command_that_was_killed/)"
# The tests that use a runtime with PyTorch.
LEARNED = "test(/^(verify|isolation)::/) & test(/checkpoints|a_network/)"
# The tests whose leases and waits are shortened by settings, at the values that operators get.
SHORTENED = (
    "test(/^serve::(workers::(leaving::the_episodes_of_a_killed|tasks::the_tasks_of_killed|renders::a_worker_renders)"
    "|connecting::rules::(a_policy_that_does_not_connect|a_connection_without)|webhooks::(failed_deliveries|a_receiver_may)"
    "|several_servers::a_killed_server)/)"
)
# Where the runtime with LeRobot is built, from which list.
RUNTIMES, PINNED = TARGET / "runtimes", "requirements/runtimes/lerobot.txt"
ASSAY = TARGET / "debug" / "assay"
HISTORY = TARGET / "test-long.jsonl"


def test(programs: str, chosen: str, how: str = "--no-capture", **variables: object) -> str:
    """Returns the command that runs the chosen tests of some programs: one by one with their output, unless `how` differs."""
    environment = " ".join(f"{name}={value}" for name, value in variables.items())
    return f"env {environment} {nextest.PROGRAM} --workspace --locked {how} {programs} -E '{chosen}'"


STAGES = {
    "setup": Stage("tools/setup --dev"),
    "build": Stage("cargo build --workspace --all-targets --locked"),
    "crates": Stage("tools/check-crates", quiet_limit_s=QUIET_S),
    "known-answers": Stage(
        test("--test scenarios", "test(/^policies::/)", "--no-fail-fast", ASSAY_KNOWN_ANSWERS=EPISODES),
        quiet_limit_s=QUIET_S,
    ),
    "half-step": Stage(
        test("--test scenarios", "test(/^half_step::/)", ASSAY_HALF_STEP=EPISODES), quiet_limit_s=QUIET_S,
    ),
    "intervals": Stage(
        test("--test service", SHORTENED, "--no-fail-fast", ASSAY_PRODUCTION_INTERVALS=1), quiet_limit_s=QUIET_S,
    ),
    "hostile-folders": Stage(
        test("--test commands", "test(/^verify::strangers::no_command_follows/)", ASSAY_HOSTILE_PLACES="all"),
        quiet_limit_s=QUIET_S,
    ),
    "runtime": Stage(
        f"env ASSAY_RUNTIMES={RUNTIMES} {ASSAY} runtime add lerobot --requirements {PINNED}", quiet_limit_s=SILENT_S,
    ),
    "lerobot": Stage(
        test("--test commands", LEARNED, ASSAY_LEROBOT_RUNTIMES=RUNTIMES),
        quiet_limit_s=QUIET_S,
    ),
    "store-kills": Stage(
        test("--test it", "package(assay-store) & test(/^kill::/)", ASSAY_STORE_KILLS=STORE_KILLS), quiet_limit_s=QUIET_S,
    ),
    "kills": Stage(test("--test service", "test(/^kills::/)", ASSAY_KILLS=KILLS), quiet_limit_s=QUIET_S, shown_lines=20),
    "hosts": Stage(test("--test service", "test(/^hosts::/)", ASSAY_HOST_FAULTS="all"), quiet_limit_s=QUIET_S, shown_lines=65),
    "swarm": Stage(
        test("--lib", "package(assay-worker) & test(/^remote_server::swarm/)", ASSAY_SWARM=WORKERS),
        quiet_limit_s=QUIET_S, shown_lines=20,
    ),
    "models": Stage(
        test(
            "--test it --test service", f"({SHARED_MODELS}) | ({UPLOADED_MODELS})", ASSAY_MODEL_MIB=MODEL_MIB,
            ASSAY_MODEL_READERS=READERS,
        ),
        quiet_limit_s=QUIET_S, shown_lines=20,
    ),
    "uploads": Stage(test("--test service", "test(/^uploads::/)", ASSAY_UPLOAD_MIB=100), quiet_limit_s=QUIET_S),
    "requests": Stage(
        test("--test service", "test(/^conform::fuzz/)", ASSAY_REQUESTS_PER_OPERATION=60), quiet_limit_s=QUIET_S,
    ),
    "ceph": Stage("tools/check-ceph", quiet_limit_s=QUIET_S, shown_lines=15),
    "packages": Stage("tools/check-packages --quick", quiet_limit_s=QUIET_S, shown_lines=15),
    "compilations": Stage("tools/check-packages --compiled", quiet_limit_s=SILENT_S, shown_lines=15),
    "datasets": Stage("tools/check-lerobot", quiet_limit_s=SILENT_S, shown_lines=10),
    "load": Stage("tools/load", quiet_limit_s=QUIET_S, shown_lines=40),
    "fuzz": Stage("tools/fuzz", quiet_limit_s=QUIET_S, shown_lines=40),
}
#: What the others need, which may have been built from another commit since.
FIRST = ("setup", "build")


def main(arguments: list[str]) -> int:
    entries = history.read(HISTORY)
    if arguments == ["--table"]:
        print(history.table(STAGES, entries))
        return 0
    if arguments != ["--due"]:
        return history.run(STAGES, arguments, HISTORY)
    commit = history.git(stages.ROOT, "rev-parse", "HEAD")
    due = history.due([name for name in STAGES if name not in FIRST], entries, commit)
    if history.git(stages.ROOT, "status", "--porcelain"):
        print("there are changes that are not committed: what passes now counts for no commit")
    if not due:
        print(f"every stage passed on {commit[:history.SHOWN_DIGITS]}")
        return 0
    return history.run(STAGES, [*FIRST, *due], HISTORY)
