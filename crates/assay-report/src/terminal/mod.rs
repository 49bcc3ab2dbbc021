//! The report at the end of a verification on a terminal, and the layout of other output for people ([`Layout`]).

mod layout;
mod markdown;
mod paint;
mod tables;
mod wrap;

use assay_model::{JobReport, sanitise};

use crate::outcome::{self, PolicyErrorGroup};
use crate::{ClauseSummary, RunAgain, run_again, statistics, words};
use layout::MIN_WIDTH;
use paint::{Paint, Tone};
use wrap::{NO_BREAK, wrap};

pub use layout::Layout;

/// Maximum number of lines shown of a policy's log; the others are in the report file.
const MAX_LOG_LINES: usize = 20;
/// Maximum length of a name or line, in bytes.
const MAX_LINE_BYTES: usize = 400;
/// Maximum length of an error message, in bytes.
const MAX_MESSAGE_BYTES: usize = 4096;
/// Maximum number of different policy errors shown in full.
const MAX_FAILURES: usize = 5;
/// Mark before a policy's own text.
const MARKED: &str = "  | ";
/// Indentation of everything under a heading.
const INDENT: usize = 2;

/// Options of the terminal output.
#[derive(Debug, Clone)]
pub struct TerminalOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// True to use colours. The caller decides (`NO_COLOR`, a pipe).
    pub colour: bool,
    /// Files listed at the end: description and path of each.
    pub paths: Vec<(String, String)>,
    /// Details for repeating the same episodes, if the caller knows more than the report contains.
    pub again: Option<RunAgain>,
}

/// Renders the whole report; every line ends with a newline.
#[must_use]
pub fn render(report: &JobReport, options: &TerminalOptions) -> String {
    let width = options.width.max(MIN_WIDTH);
    let screen = Screen { width, paint: Paint::new(options.colour), out: String::new() };
    screen
        .verdict(report)
        .scores(report)
        .statistics(report)
        .clauses(report)
        .episodes(report)
        .failures(report)
        .ending(report, options)
}

/// State of the output.
struct Screen {
    width: usize,
    paint: Paint,
    out: String,
}

impl Screen {
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn heading(&mut self, text: &str) {
        self.line("");
        let painted = self.paint.text(Tone::Heading, text);
        self.line(&painted);
    }

    fn indented(&mut self, text: &str) {
        self.line(&format!("{}{text}", " ".repeat(INDENT)));
    }

    /// Writes text in lines that fit, each indented by `indent` spaces. Line breaks in it, which are a stranger's, do
    /// not begin a line.
    fn paragraph(&mut self, text: &str, indent: usize) {
        for line in wrap(&text.replace(['\n', '\t'], " "), self.width - indent) {
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }

    /// Writes a line of a policy's text with a mark before it, so that it does not pass for one of the report.
    fn marked(&mut self, text: &str) {
        for line in wrap(text, self.width - INDENT - MARKED.len()) {
            self.line(&format!("{}{MARKED}{line}", " ".repeat(INDENT)));
        }
    }

    fn verdict(mut self, report: &JobReport) -> Self {
        let word = outcome::headline(report);
        let tone = Tone::of_verdict(report.verdict);
        let bar = "═".repeat(word.len() + 4);
        let subject = format!(
            "{} on {} {}, seed {}",
            sanitise(&report.policy_name, MAX_LINE_BYTES),
            report.scenario,
            sanitise(&report.scenario_version, MAX_LINE_BYTES),
            report.seed
        );
        for line in [format!("╔{bar}╗"), format!("║  {word}  ║"), format!("╚{bar}╝")] {
            let painted = self.paint.text(tone, &line);
            self.line(&painted);
        }
        self.paragraph(&sanitise(&outcome::reason(report), MAX_MESSAGE_BYTES), 0);
        if let Some(closest) = outcome::closest_sentence(report) {
            self.paragraph(&sanitise(&closest, MAX_MESSAGE_BYTES), 0);
        }
        if let Some(blame) = report.blame {
            self.paragraph(&format!("Caused by {}.", outcome::blame(blame)), 0);
        }
        if report.needs_review {
            let why: Vec<_> = report.review_reasons.iter().map(|&r| outcome::review(r)).collect();
            self.paragraph(&format!("Manual review recommended: {}.", why.join("; ")), 0);
        }
        for episode in &report.episode_details {
            if let Some(judgement) = &episode.judge {
                let text = format!("Episode {}: {}", episode.episode, outcome::judgement(judgement));
                self.paragraph(&sanitise(&text, MAX_MESSAGE_BYTES), 0);
            }
        }
        for warning in &report.warnings {
            self.paragraph(&format!("Note: {}", sanitise(warning, MAX_MESSAGE_BYTES)), 0);
        }
        self.paragraph(&subject, 0);
        self
    }

    fn scores(mut self, report: &JobReport) -> Self {
        let scores = [
            ("score", report.score),
            ("composite", report.composite_score),
            ("progress", report.progress_score),
            ("safety", report.safety_score),
            ("consistency", report.consistency),
            ("success rate", report.success_rate),
        ];
        let shown: Vec<_> = scores
            .iter()
            .filter_map(|(name, value)| value.map(|v| format!("{name} {}", words::score(v)).replace(' ', NO_BREAK)))
            .collect();
        if !shown.is_empty() {
            self.heading("Scores (0 to 1)");
            self.paragraph(&shown.join("   "), 2);
        }
        self
    }

    fn statistics(mut self, report: &JobReport) -> Self {
        let Some(statistics) = &report.statistics else { return self };
        self.heading("Statistical confidence");
        for sentence in statistics::sentences(report) {
            self.paragraph(&sentence, 2);
        }
        if let (Some(share), Some(severity), Some(time)) =
            (report.unsafe_success_share, report.violation_severity, report.unsafe_time_s)
            && statistics.violations > 0
        {
            let text = format!(
                "Succeeded unsafely: {} of the episodes. Mean severity {}. {} spent in critical violation.",
                words::percent(share),
                words::score(severity),
                words::seconds(time)
            );
            self.paragraph(&text, 2);
        }
        self
    }

    fn clauses(mut self, report: &JobReport) -> Self {
        let summaries = ClauseSummary::of(&report.episode_details);
        if !summaries.is_empty() {
            self.heading(&format!("Clauses, over {}", words::counted(report.episode_details.len(), "episode")));
            for line in tables::clauses(&summaries, self.width - INDENT, self.paint) {
                self.indented(&line);
            }
        }
        self
    }

    fn episodes(mut self, report: &JobReport) -> Self {
        if report.episode_details.is_empty() {
            return self;
        }
        self.heading("Episodes");
        let (lines, left_out) = tables::episodes(&report.episode_details, self.width - INDENT, self.paint);
        for line in lines {
            self.indented(&line);
        }
        if left_out > 0 {
            let text = format!("{} more in the report file.", words::counted(left_out, "episode"));
            self.paragraph(&text, 2);
        }
        self
    }

    fn failures(mut self, report: &JobReport) -> Self {
        let failures = outcome::failures(&report.episode_details);
        if failures.is_empty() {
            return self;
        }
        self.heading("Policy errors");
        for failure in failures.iter().take(MAX_FAILURES) {
            self.failure(failure);
        }
        if failures.len() > MAX_FAILURES {
            let more = words::counted(failures.len() - MAX_FAILURES, "other error");
            self.paragraph(&format!("{more} in the report file."), 2);
        }
        self
    }

    fn failure(&mut self, failure: &PolicyErrorGroup<'_>) {
        let noun = if failure.episodes.len() == 1 { "episode" } else { "episodes" };
        let head =
            format!("{noun} {}: {}", words::ranges(&failure.episodes), sanitise(failure.code.as_str(), MAX_LINE_BYTES));
        let painted = self.paint.text(Tone::Bad, &head);
        self.line(&format!("  {painted}"));
        for line in sanitise(failure.message, MAX_MESSAGE_BYTES).lines() {
            self.marked(line);
        }
        if let Some(advice) = &failure.advice {
            self.paragraph(&format!("-> {}", sanitise(advice, MAX_MESSAGE_BYTES)), 4);
        }
        let lines: Vec<_> = failure.log_tail.lines().collect();
        if lines.is_empty() {
            return;
        }
        let from = lines.len().saturating_sub(MAX_LOG_LINES);
        self.paragraph(if from > 0 { "its log ends with:" } else { "its log:" }, 4);
        for line in &lines[from..] {
            let text = sanitise(line, MAX_LINE_BYTES);
            let painted = self.paint.text(Tone::Quiet, &text);
            self.line(&format!("    | {painted}"));
        }
    }

    fn ending(mut self, report: &JobReport, options: &TerminalOptions) -> String {
        let paths = &options.paths;
        if !paths.is_empty() {
            self.heading("Files");
            let widest = paths.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
            for (label, path) in paths {
                self.line(&format!("  {label:widest$}  {}", sanitise(path, MAX_MESSAGE_BYTES)));
            }
        }
        self.heading("Run it again");
        let command = options
            .again
            .as_ref()
            .map_or_else(|| run_again::reproduce(report), |again| run_again::command(report, again));
        self.line(&format!("  {command}"));
        self.out
    }
}
