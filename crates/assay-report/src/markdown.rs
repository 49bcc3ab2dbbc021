//! The report as GitHub-flavoured Markdown, for a pull request or a wiki.

use std::fmt::Write;

use assay_model::{JobReport, sanitise};

use crate::{ClauseSummary, outcome, run_again, statistics, words};

/// Maximum length of a text from a policy or scenario, in bytes.
const MAX_TEXT_BYTES: usize = 2048;
/// Maximum number of episodes listed individually.
const MAX_EPISODES: usize = 50;

/// Renders the report. All text from a policy or scenario is escaped.
#[must_use]
pub fn render(report: &JobReport) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {}: {} on {}\n", outcome::headline(report), text(&report.policy_name), report.scenario);
    let _ = writeln!(out, "{}\n", text(&outcome::reason(report)));
    if let Some(closest) = outcome::closest_sentence(report).filter(|_| report.verdict.is_some()) {
        let _ = writeln!(out, "{}\n", text(&closest));
    }
    if !report.review_reasons.is_empty() {
        let reasons: Vec<_> = report.review_reasons.iter().map(|r| outcome::review(*r)).collect();
        let _ = writeln!(out, "Manual review recommended: {}.\n", reasons.join("; "));
    }
    if let Some(reviewed) = outcome::reviewed(report) {
        let _ = writeln!(out, "{}\n", text(&reviewed));
    }
    for warning in &report.warnings {
        let _ = writeln!(out, "Note: {}\n", text(warning));
    }
    for sentence in statistics::sentences(report) {
        let _ = writeln!(out, "{sentence}\n");
    }
    clauses(&mut out, report);
    episodes(&mut out, report);
    let _ = writeln!(out, "## How to reproduce\n\n```\n{}\n```\n", run_again::reproduce(report));
    let _ = writeln!(out, "Policy {}; scenario sha256 {}.\n", text(&outcome::identity(report)), report.scenario_digest);
    let _ = writeln!(out, "A result of simulation: evidence, never conformity with a standard.");
    out
}

fn clauses(out: &mut String, report: &JobReport) {
    let summaries = ClauseSummary::of(&report.episode_details);
    if summaries.is_empty() {
        return;
    }
    out.push_str("## Clauses\n\n| clause | level | status | limit | worst | margin | when | standard |\n");
    out.push_str("|---|---|---|---:|---:|---:|---|---|\n");
    for summary in &summaries {
        let (clause, worst) = (summary.clause, summary.worst);
        let shown = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| text(&words::with_unit(x, &clause.unit)));
        let when = worst.and_then(|w| Some(format!("ep. {}, {}", w.episode, words::seconds(w.time_s?))));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            text(&clause.name()),
            summary.clause.level.as_str(),
            summary.status_words(),
            shown(Some(clause.limit)),
            shown(worst.and_then(|w| w.value)),
            worst.map_or_else(|| "-".to_owned(), |w| words::signed(w.robustness)),
            when.unwrap_or_else(|| "-".to_owned()),
            text(&clause.standard),
        );
    }
    out.push('\n');
}

fn episodes(out: &mut String, report: &JobReport) {
    if report.episode_details.is_empty() {
        return;
    }
    out.push_str("## Episodes\n\n| episode | ended by | done | progress | safety | composite | error |\n");
    out.push_str("|---:|---|---|---:|---:|---:|---|\n");
    for episode in report.episode_details.iter().take(MAX_EPISODES) {
        let error = episode.error.as_ref().map_or_else(String::new, |e| text(&format!("{}: {}", e.code, e.message)));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {error} |",
            episode.episode,
            outcome::ending(episode),
            if episode.success { "yes" } else { "no" },
            words::score(episode.progress_score),
            words::score(episode.safety_score),
            words::score(episode.composite_score),
        );
    }
    let more = report.episode_details.len().saturating_sub(MAX_EPISODES);
    if more > 0 {
        let _ = writeln!(out, "\n{} more.", words::counted(more, "episode"));
    }
    out.push('\n');
}

/// Escapes text such that Markdown shows it verbatim, on one line.
fn text(raw: &str) -> String {
    let mut out = String::new();
    for c in sanitise(raw, MAX_TEXT_BYTES).chars() {
        match c {
            '\n' | '\t' => out.push(' '),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '@' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    // Bare addresses would become links.
    out.replace("://", ":\u{200b}//").replace("www.", "www\u{200b}.")
}
