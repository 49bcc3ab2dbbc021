//! `assay`: verifies robot-control policies.

use std::process::ExitCode;

fn main() -> ExitCode {
    assay::run()
}
