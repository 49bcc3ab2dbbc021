//! `assay verify` and the other commands, as a shell sees them: exit codes, messages, files, and nothing left behind.
//! Real jails, real MuJoCo.

#![expect(clippy::unwrap_used, reason = "tests")]

mod adapters;
mod attempts;
mod attest;
mod budgets;
mod cameras;
mod certification;
mod check;
mod checkpoints;
mod commands;
mod conda;
mod datasets;
mod drawing;
mod evidence;
mod faults;
mod forged;
mod interrupt;
mod judge;
mod load;
mod log;
mod recompute;
mod refusals;
mod remote;
mod repeat;
mod replay;
mod replay_script;
mod reports;
mod runtimes;
mod seeds;
mod seen;
mod stl;
mod strangers;
mod templates;
mod tls;
mod verdicts;
mod watchdog;
mod widths;

use std::path::{Path, PathBuf};

use assay_model::JobReport;
use assay_testkit::{Assay, Run};

const CARTPOLE: &str = "cartpole_keepin";

fn assay() -> Assay {
    Assay::new(env!("CARGO_BIN_EXE_assay"))
}

/// Runs `assay verify POLICY --scenario cartpole_keepin` with further arguments.
#[track_caller]
fn verify(assay: &Assay, policy: &Path, more: &[&str]) -> Run {
    let mut arguments = vec!["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE];
    arguments.extend(more);
    assay.run(&arguments)
}

/// Copies the cart-pole, with these parameters instead of its own, of which only the pole's start may depend on them.
#[track_caller]
fn one_world(assay: &Assay, parameters: &str, lean: &str) -> PathBuf {
    let place = format!("one_world/{}", assay_model::Sha256Digest::of(format!("{parameters} {lean}")));
    assay.copy_scenario(CARTPOLE, &place, |name, text| {
        if name != "scenario.toml" {
            return text;
        }
        let (head, rest) = text.split_once("[parameters]").unwrap();
        let (_, rest) = rest.split_once("[[observation]]").unwrap();
        let set = format!("[[set]]\ntarget = \"joint:hinge.qpos\"\nvalue = \"{lean}\"");
        format!("{head}[parameters]\n{parameters}\n{set}\n\n[[observation]]{rest}")
    })
}

/// Parses the output of `--json`: exactly one document, the job object.
#[track_caller]
fn report(run: &Run) -> JobReport {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}\n{}", run.stdout, run.stderr))
}

/// Returns the trace hashes of all episodes.
#[track_caller]
fn hashes(report: &JobReport) -> Vec<String> {
    report.episode_details.iter().map(|episode| episode.trace_hash.unwrap().to_string()).collect()
}
