//! Rendering of logs and videos after the verdict.

use std::path::Path;

use assay_model::JobReport;
use assay_worker::{Cancel, Engine, Job, Keyring};

use super::arguments::VerifyArgs;
use crate::commands::draw::{self, ResultsFolder};
use crate::commands::stdout;
use crate::exit::{ExitStatus, Failure};
use crate::printing::complain;
use crate::screen;

/// A verification whose verdict has been printed, and its results folder.
pub(super) struct Verified<'a> {
    pub(super) arguments: &'a VerifyArgs,
    pub(super) out: &'a Path,
    pub(super) report: &'a JobReport,
    pub(super) job: &'a Job,
    /// The exit status of the verdict.
    pub(super) code: ExitStatus,
}

impl Verified<'_> {
    /// Renders logs and videos unless `--no-wait-video` is given, and returns the exit status.
    pub(super) fn render(&self, engine: &Engine, keyring: &Keyring, cancel: &Cancel) -> Result<ExitStatus, Failure> {
        let Self { arguments, out, report, job, code } = *self;
        let folder = ResultsFolder {
            path: out,
            report,
            scenario: &job.scenario,
            seeds: job.seeds.clone(),
            record: arguments.record,
            max_evidence_bytes: arguments.evidence.max_evidence_bytes(),
        };
        if arguments.no_wait_video {
            if !folder.missing()?.is_empty() {
                let command = draw::render_command(out, arguments.record);
                complain!("assay: logs and videos were not rendered; to render them: {command}");
            }
            return Ok(code);
        }
        if !folder.missing()?.is_empty() {
            let command = draw::render_command(out, arguments.record);
            complain!(
                "assay: the verdict is final; logs and videos follow. Ctrl-C is harmless: to render the rest later: {command}"
            );
        }
        let ended = folder.render(engine, keyring, cancel)?;
        folder.print_unrendered(ended);
        let paths = if arguments.json { Vec::new() } else { folder.paths()? };
        if !paths.is_empty() {
            let screen = screen::layout();
            stdout::print(&format!("\n{}{}", screen.heading("Logs and videos"), screen.facts(&paths, 2)));
        }
        Ok(draw::code(ended, code))
    }
}
