//! The report as JUnit XML for CI systems: a suite per episode with a case per clause, and a suite for the verdict.

use std::fmt::Write;

use assay_model::{
    ClauseEvent, ClauseResult, ClauseStatus, EpisodeResult, JobReport, Level, Verdict, sanitise, unsigned_zero,
};

use crate::outcome;

/// Maximum length of a text, in bytes.
const MAX_TEXT_BYTES: usize = 8192;

/// Outcome of a test case.
enum Case {
    Passed,
    Failure(String),
    Error(String),
    Skipped(String),
}

/// Named test case. Clauses are monitored while the policy runs, so the time of an episode is that of the case
/// `policy`, and the times of a suite's cases add up to that of the suite.
struct Timed {
    name: String,
    case: Case,
    time_s: f64,
}

impl Timed {
    fn at_once(name: &str, case: Case) -> Self {
        Self { name: name.to_owned(), case, time_s: 0.0 }
    }
}

/// Renders the document. A violated critical clause is a failure and an undecided one an error; a violated warning
/// clause is skipped, with a message.
#[must_use]
pub fn render(report: &JobReport) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let verdict = match report.verdict {
        Some(Verdict::Safe) => Case::Passed,
        Some(Verdict::Unsafe) => Case::Failure(outcome::reason(report)),
        Some(Verdict::Inconclusive) | None => Case::Error(outcome::reason(report)),
    };
    let name = format!("assay.{}", report.scenario);
    suite(&mut out, &name, &[Timed::at_once("verdict", verdict)], None);
    for episode in &report.episode_details {
        let mut cases: Vec<_> =
            episode.clauses.iter().map(|clause| Timed::at_once(&clause.id, case(episode, clause))).collect();
        let failed = episode.error.as_ref().map(|error| format!("{}: {}", error.code, error.message));
        let policy = failed.map_or(Case::Passed, Case::Error);
        cases.push(Timed { name: "policy".to_owned(), case: policy, time_s: episode.wall_time_s });
        let log = episode.error.as_ref().map(|error| error.log_tail.as_str()).filter(|log| !log.is_empty());
        suite(&mut out, &format!("{name}.episode_{:03}", episode.episode), &cases, log);
    }
    out.push_str("</testsuites>\n");
    out
}

fn case(episode: &EpisodeResult, clause: &ClauseResult) -> Case {
    let critical = clause.level == Level::Critical;
    match clause.status {
        ClauseStatus::Satisfied => Case::Passed,
        ClauseStatus::Violated if critical => Case::Failure(violation(episode, clause)),
        ClauseStatus::Violated => Case::Skipped(format!("warning: {}", violation(episode, clause))),
        ClauseStatus::Undetermined if critical => Case::Error("could not be decided".to_owned()),
        ClauseStatus::NotApplicable if critical => {
            Case::Error("not applicable: its premise never became true".to_owned())
        }
        ClauseStatus::Undetermined | ClauseStatus::NotApplicable => Case::Skipped("could not be decided".to_owned()),
    }
}

/// Describes a violation: clause, episode, onset, peak, limit and bodies.
pub(crate) fn violation(episode: &EpisodeResult, clause: &ClauseResult) -> String {
    let event = ClauseEvent::of_violation(episode, clause);
    format!("violated: {} ({})", event.violation(), clause.standard)
}

fn suite(out: &mut String, name: &str, cases: &[Timed], log: Option<&str>) {
    let count = |test: fn(&Case) -> bool| cases.iter().filter(|timed| test(&timed.case)).count();
    let time_s = unsigned_zero(cases.iter().map(|timed| timed.time_s).sum());
    let _ = writeln!(
        out,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{time_s:.3}\">",
        escape(name),
        cases.len(),
        count(|case| matches!(case, Case::Failure(_))),
        count(|case| matches!(case, Case::Error(_))),
        count(|case| matches!(case, Case::Skipped(_))),
    );
    for Timed { name: id, case, time_s } in cases {
        let open = format!("    <testcase classname=\"{}\" name=\"{}\" time=\"{time_s:.3}\"", escape(name), escape(id));
        let (element, message) = match case {
            Case::Passed => {
                let _ = writeln!(out, "{open}/>");
                continue;
            }
            Case::Failure(message) => ("failure", message),
            Case::Error(message) => ("error", message),
            Case::Skipped(message) => ("skipped", message),
        };
        let _ = writeln!(out, "{open}><{element} message=\"{}\"/></testcase>", escape(message));
    }
    if let Some(log) = log {
        let _ = writeln!(out, "    <system-err>{}</system-err>", escape(log));
    }
    out.push_str("  </testsuite>\n");
}

/// Escapes text for an attribute or an element, and removes characters that XML 1.0 does not permit.
fn escape(raw: &str) -> String {
    let mut out = String::new();
    for c in sanitise(raw, MAX_TEXT_BYTES).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => {}
            _ => out.push(c),
        }
    }
    out
}
