//! `assay-lane step` (physics), `render` (log and video), `audit` (an episode of another host), `compare` (two traces),
//! `draw` (one frame, for the doctor), `check` (a scenario), `sheet` (pictures of its worlds) and `stills` (pictures of
//! an episode): started by the worker in a jail, and not meant to be run by hand. `environment` and
//! `environment-pictures` are started by `assay.envs`.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

use assay_lane::{Places, audit, check, compare, draw_once, environment, render, seal, sheet, step, stills};
use assay_model::lane::DISK_FULL_STATUS;

fn main() -> ExitCode {
    assay_sim::log_to_stderr();
    let sealed = match seal() {
        Ok(sealed) => sealed,
        Err(error) => {
            eprintln!("assay-lane: could not seal itself: {error}");
            return ExitCode::FAILURE;
        }
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, scenario, robots, scratch] = arguments.as_slice() else {
        eprintln!(
            "assay-lane is started by assay: step|environment|environment-pictures|render|audit|compare|draw|check|sheet|stills SCENARIO ROBOTS SCRATCH"
        );
        return ExitCode::from(2);
    };
    let places =
        Places { scenario: PathBuf::from(scenario), robots: PathBuf::from(robots), scratch: PathBuf::from(scratch) };
    let outcome = match mode.as_str() {
        "step" => step(&places, sealed).map_err(anyhow::Error::from),
        "environment" => environment(&places, sealed, false).map_err(anyhow::Error::from),
        "environment-pictures" => environment(&places, sealed, true).map_err(anyhow::Error::from),
        "render" => render(&places).map_err(anyhow::Error::from),
        "audit" => audit(&places).map_err(anyhow::Error::from),
        "compare" => compare(&places).map_err(anyhow::Error::from),
        "draw" => draw_once(&places).map_err(anyhow::Error::from),
        "check" => check(&places).map_err(anyhow::Error::from),
        "sheet" => sheet(&places).map_err(anyhow::Error::from),
        "stills" => stills(&places).map_err(anyhow::Error::from),
        _ => Err(anyhow::anyhow!("unknown mode {mode:?}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("assay-lane: {error:#}");
            if is_disk_full(&error) { ExitCode::from(DISK_FULL_STATUS) } else { ExitCode::FAILURE }
        }
    }
}

/// Returns true if the disk was full: the worker must distinguish this from a failure of the lane or of its scenario.
fn is_disk_full(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    kinds.into_iter().any(|kind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}
