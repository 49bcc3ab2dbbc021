//! The functions behind the fuzz targets: for each kind of untrusted input, a function that processes it as the service
//! does, and asserts the invariants that hold for any input. Beyond "no panic, no hang, bounded memory" these are, for
//! example, that an archive which passed its checks unpacks to the files that were checked, or that packed evidence is
//! restored to the byte.
//!
//! The targets themselves are one line each, in `fuzz/fuzz_targets`; `tools/fuzz` builds and runs them. The corpora in
//! `fuzz/corpus` also run as an ordinary test, so inputs that once revealed a bug are regression tests.
//!
//! Where to begin: [`TARGETS`].

mod answers;
mod archive;
mod evidence;
mod formula;
mod frames;
mod memory;
mod pieces;
mod recording;
mod report;
mod request;
mod scenario;
mod settings;
mod source;
mod statement;
mod text;
mod worker;

/// A function that processes untrusted bytes.
type FuzzTarget = fn(&[u8]);

/// All targets by name, each with a description of its input.
pub const TARGETS: [(&str, FuzzTarget, &str); 21] = [
    ("archive", archive::archive, "zip archives of policies and scenarios"),
    ("checkpoint", source::checkpoint, "checkpoints: config.json, processors, safetensors headers"),
    ("csv", settings::csv, "traces and formulas of `assay stl`"),
    ("formula", formula::formula, "formulas of clauses (signal temporal logic)"),
    ("http_answer", answers::http, "answers of policy servers over HTTP: JSON, json_numpy"),
    ("judge", answers::judge, "answers of the second judge"),
    ("lane", frames::lane, "messages and files of a lane: replies, plots, checks"),
    ("mjcf", scenario::mjcf, "the checks of MJCF before MuJoCo reads it"),
    ("openpi", answers::openpi, "answers of openpi servers: msgpack with numpy arrays"),
    ("pack", evidence::pack, "evidence files and packed evidence: Parquet, npy, npz"),
    ("policy", frames::policy, "frames of a policy's process, to the worker and to the lane"),
    ("recording", recording::recording, "recordings of observations, and their conversion to datasets"),
    (
        "relay",
        frames::relay,
        "frames between a lane and a policy server, over HTTP or a WebSocket, called or connecting",
    ),
    ("report", report::report, "report.json, recomputed and converted to every format"),
    ("request", request::request, "requests to the service: forms, JSON, headers, paths"),
    ("scenario", scenario::toml, "scenario.toml and README.md of scenarios"),
    ("settings", settings::settings, "assay.toml"),
    ("source", source::source, "policy.py and policy.toml: the declared runtime, and settings of threads"),
    ("statement", statement::statement, "signed statements and lists of keys"),
    ("trace", evidence::trace, "recordings: trace.parquet"),
    (
        "worker",
        worker::worker,
        "what workers on other hosts send: messages, and lists of rendered files with the files",
    ),
];

/// Runs the target of that name.
///
/// # Panics
/// Panics if there is no such target, or if the input reveals a bug.
pub fn run(target: &str, data: &[u8]) {
    let found = TARGETS.iter().find(|(name, ..)| *name == target);
    let Some((_, target, _)) = found else { panic!("there is no target {target:?}") };
    target(data);
}
