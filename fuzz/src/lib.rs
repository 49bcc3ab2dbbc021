//! The table of fuzz targets, and an allocator with a limit, so that an input that makes a parser allocate too much is
//! a finding even if the memory is never touched. The programs in `fuzz_targets` are one line each.
//!
//! The targets are in the modules `fuzzing` of the crates; the one of requests is in the tests of `assay-api`.

use std::alloc::System;

use cap::Cap;

/// The test service of `assay-api`.
#[path = "../../crates/assay-api/tests/api/app.rs"]
#[expect(dead_code, reason = "written for the tests of assay-api, which use all of it")]
mod app;
#[path = "../../crates/assay-api/tests/api/fuzz_request.rs"]
mod fuzz_request;

/// Maximum memory that a target may hold at a time, in bytes, including the corpus and libFuzzer's own tables.
const MAX_HELD_BYTES: usize = 1 << 30;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MAX_HELD_BYTES);

/// A function that processes untrusted bytes.
type FuzzTarget = fn(&[u8]);

/// All targets by name, each with a description of its input.
pub const TARGETS: [(&str, FuzzTarget, &str); 21] = [
    ("archive", assay_policy::fuzzing::archive, "zip archives of policies and scenarios"),
    ("checkpoint", assay_policy::fuzzing::checkpoint, "checkpoints: config.json, processors, safetensors headers"),
    ("csv", assay::fuzzing::csv, "traces and formulas of `assay stl`"),
    ("formula", assay_stl::fuzzing::formula, "formulas of clauses (signal temporal logic)"),
    ("http_answer", assay_policy::fuzzing::http_answer, "answers of policy servers over HTTP: JSON, json_numpy"),
    ("judge", assay_judge::fuzzing::judge, "answers of the second judge"),
    ("lane", assay_model::fuzzing::lane, "messages and files of a lane: replies, plots, checks"),
    ("mjcf", assay_scenario::fuzzing::mjcf, "the checks of MJCF before MuJoCo reads it"),
    ("openpi", assay_policy::fuzzing::openpi, "answers of openpi servers: msgpack with numpy arrays"),
    ("pack", assay_store::fuzzing::pack, "evidence files and packed evidence: Parquet, npy, npz"),
    ("policy", policy, "frames of a policy's process, to the worker and to the lane"),
    ("recording", assay_dataset::fuzzing::recording, "recordings of observations, and their conversion to datasets"),
    (
        "relay",
        assay_policy::fuzzing::relay,
        "frames between a lane and a policy server, over HTTP or a WebSocket, called or connecting",
    ),
    ("report", assay_report::fuzzing::report, "report.json, recomputed and converted to every format"),
    ("request", fuzz_request::request, "requests to the service: forms, JSON, headers, paths"),
    ("scenario", assay_scenario::fuzzing::scenario, "scenario.toml and README.md of scenarios"),
    ("settings", assay::fuzzing::settings, "assay.toml"),
    (
        "source",
        assay_policy::fuzzing::source,
        "policy.py and policy.toml: the declared runtime, and settings of threads",
    ),
    ("statement", assay_report::fuzzing::statement, "signed statements and lists of keys"),
    ("trace", assay_lane::fuzzing::trace, "recordings: trace.parquet"),
    (
        "worker",
        assay_api::fuzzing::worker,
        "what workers on other hosts send: messages, and lists of rendered files with the files",
    ),
];

/// Parses the bytes as answers of a policy's process, as lane and worker do.
fn policy(data: &[u8]) {
    assay_lane::fuzzing::policy(data);
    assay_policy::fuzzing::policy(data);
}

/// Runs the target of that name.
///
/// # Panics
/// Panics if there is no such target, or if the input reveals a bug.
pub fn run(target: &str, data: &[u8]) {
    let found = TARGETS.iter().find(|(name, ..)| *name == target);
    let Some((_, target, _)) = found else { panic!("there is no target {target:?}") };
    target(data);
}
