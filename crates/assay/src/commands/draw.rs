//! Rendering of logs and videos into a results folder after the verdict, by `assay verify` or later by `assay render`.

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Mutex;

use anyhow::anyhow;
use assay_jail::UntrustedFolder;
use assay_model::lane::RenderPart;
use assay_model::{EpisodeResult, ErrorChain, JobReport, LogType, Record, SeedSource};
use assay_scenario::Scenario;
use assay_worker::{
    Cancel, DrawEvents, DrawJob, DrawTools, Engine, Keyring, RenderedPart, RenderingError, STATEMENT_FILE, VideoFormat,
    drawn_in, render_parts, undrawn,
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::printing::complain;

/// A folder with the results of a verification.
#[derive(Debug)]
pub(super) struct ResultsFolder<'a> {
    pub(super) path: &'a Path,
    pub(super) report: &'a JobReport,
    pub(super) scenario: &'a Scenario,
    pub(super) seeds: SeedSource,
    /// The episodes that get a log and a video.
    pub(super) record: Record,
    /// Maximum size of the job's evidence, in bytes.
    pub(super) max_evidence_bytes: u64,
}

/// The outcome of rendering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RenderEnd {
    /// All logs and videos exist.
    All,
    /// Some could not be rendered.
    Some,
    /// Stopped by Ctrl-C.
    Interrupted,
}

impl ResultsFolder<'_> {
    /// Returns the episodes' missing logs and videos.
    pub(super) fn missing(&self) -> Result<Vec<(u32, RenderPart)>, Failure> {
        undrawn(self.path, &self.report.episode_details, self.record).map_err(unreadable)
    }

    /// Renders the missing logs and videos, and reports progress on standard error.
    pub(super) fn render(&self, engine: &Engine, keyring: &Keyring, cancel: &Cancel) -> Result<RenderEnd, Failure> {
        let parts = self.missing()?;
        if parts.is_empty() {
            return Ok(RenderEnd::All);
        }
        let statement =
            UntrustedFolder::open(self.path).and_then(|folder| folder.sha256(STATEMENT_FILE)).or_internal()?;
        let job = DrawJob {
            job_id: self.report.job_id,
            scenario: self.scenario,
            seeds: self.seeds.clone(),
            statement_sha256: statement,
            max_episode_bytes: assay_model::episode_share(self.max_evidence_bytes, self.report.num_episodes),
        };
        let tools = DrawTools { engine, keyring };
        let results = &self.report.episode_details;
        let bar = RenderProgress::new(results, &parts, engine.video_format());
        let all = render_parts(tools, &job, (self.path, results), parts, (engine.lanes(), cancel), &bar);
        bar.clear();
        Ok(match (cancel.is_cancelled(), all) {
            (true, _) => RenderEnd::Interrupted,
            (false, true) => RenderEnd::All,
            (false, false) => RenderEnd::Some,
        })
    }

    /// Returns the rendered files as lines for the terminal.
    pub(super) fn paths(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut paths = Vec::new();
        for result in &self.report.episode_details {
            let mut seen = result.clone();
            seen.add_rendering(&drawn_in(self.path, result.episode).map_err(unreadable)?, &[]);
            let path = |name: &String| self.path.join(name).display().to_string();
            let of = |what: &str| format!("{what} {}", result.episode);
            paths.extend(seen.video_path.as_ref().map(|inside| (of("video"), path(inside))));
            let log = seen.log_path.filter(|_| seen.log_type == Some(LogType::Mcap));
            paths.extend(log.as_ref().map(|inside| (of("log"), path(inside))));
        }
        Ok(paths)
    }

    /// Prints a message if anything was not rendered, with the command that renders it.
    pub(super) fn print_unrendered(&self, ended: RenderEnd) {
        let command = render_command(self.path, self.record);
        match ended {
            RenderEnd::All => {}
            RenderEnd::Some => complain!("assay: some logs or videos could not be rendered; try again: {command}"),
            RenderEnd::Interrupted => {
                complain!(
                    "assay: interrupted; verdict, report and recordings are complete. To render the rest: {command}"
                );
            }
        }
    }
}

/// Returns the failure of reading a results folder: others may have put a link there.
fn unreadable(error: io::Error) -> Failure {
    let is_hostile = matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotADirectory);
    let error = anyhow!(error).context("can't read the results folder");
    if is_hostile { Failure::Usage(error) } else { Failure::Internal(error) }
}

/// Returns the command that renders what is missing in a results folder.
pub(super) fn render_command(out: &Path, record: Record) -> String {
    let more = if record == Record::All { " --record all" } else { "" };
    format!("assay render {}{more}", out.display())
}

pub(super) fn code(ended: RenderEnd, otherwise: ExitStatus) -> ExitStatus {
    if ended == RenderEnd::Interrupted { ExitStatus::Interrupted } else { otherwise }
}

/// The progress of rendering: a bar on a terminal, otherwise a line per log or video.
struct RenderProgress {
    bar: Option<ProgressBar>,
    /// Number of frames rendered, by episode.
    rendered: Mutex<HashMap<u32, u32>>,
    /// Number of frames in total, by episode.
    totals: HashMap<u32, u32>,
}

impl RenderProgress {
    fn new(results: &[EpisodeResult], parts: &[(u32, RenderPart)], format: VideoFormat) -> Self {
        let videos = parts.iter().filter(|(_, part)| *part == RenderPart::Video);
        let frames = |episode: &u32| {
            let result = results.iter().find(|result| result.episode == *episode);
            result.map_or(0, |result| format.frames(result.sim_time_s).1)
        };
        let totals: HashMap<u32, u32> = videos.map(|(episode, _)| (*episode, frames(episode))).collect();
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(totals.values().copied().map(u64::from).sum());
            let template = "{prefix:>12.bold} [{bar:32.green/dim}] {pos}/{len} frames  {eta} left";
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.progress_chars("━╸ "));
            bar.set_prefix("rendering");
            bar.enable_steady_tick(std::time::Duration::from_millis(100));
            bar
        });
        Self { bar, rendered: Mutex::default(), totals }
    }

    fn clear(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

impl DrawEvents for RenderProgress {
    fn frames(&self, episode: u32, frames: u32) {
        let Ok(mut rendered) = self.rendered.lock() else { return };
        // A renderer that starts again counts from 0, and two of them report in any order.
        let most = rendered.entry(episode).or_default();
        *most = frames.max(*most);
        let all = rendered.values().copied().map(u64::from).sum();
        self.bar.iter().for_each(|bar| bar.set_position(all));
    }

    fn finished(&self, episode: u32, part: RenderPart, outcome: &Result<RenderedPart, RenderingError>) {
        if part == RenderPart::Video {
            self.frames(episode, self.totals.get(&episode).copied().unwrap_or(0));
        }
        let what = if part == RenderPart::Log { "log" } else { "video" };
        let line = match outcome {
            Ok(rendered) if rendered.notes.is_empty() && self.bar.is_some() => return,
            Ok(rendered) if rendered.notes.is_empty() => format!("episode {episode}: {what} rendered"),
            Ok(rendered) => format!("episode {episode}: {what}: {}", rendered.notes.join("; ")),
            Err(error) => format!("episode {episode}: no {what}: {}", ErrorChain(error)),
        };
        match &self.bar {
            Some(bar) => bar.println(line),
            None => complain!("{line}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_never_runs_backwards() {
        let totals = HashMap::from([(0, 100), (1, 50)]);
        let progress = RenderProgress { bar: Some(ProgressBar::hidden()), rendered: Mutex::default(), totals };
        let position = || progress.bar.as_ref().map(ProgressBar::position);
        for (episode, frames, expected) in [(0, 40, 40), (1, 10, 50), (0, 5, 50), (1, 20, 60), (0, 41, 61)] {
            progress.frames(episode, frames);
            assert_eq!(position(), Some(expected), "{frames} frames of episode {episode}");
        }
    }
}
