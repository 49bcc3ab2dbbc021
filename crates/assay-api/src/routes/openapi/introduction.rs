//! The introduction of the OpenAPI document (authentication, a first request, limits, errors, events), and its groups
//! of operations, in the order in which clients need them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::errors::ERRORS;
use crate::ApiSettings;

const TEXT: &str = include_str!("introduction.md");
/// Default address of a service without a public URL. The page at `/docs` replaces it with its own.
const DEFAULT_BASE: &str = "http://127.0.0.1:8080";
const MIB: u64 = 1 << 20;

/// Returns the description in Markdown, with the URLs and limits of this service.
pub(in crate::routes) fn description(settings: &ApiSettings) -> String {
    let base = settings.address("");
    let base = if base.is_empty() { DEFAULT_BASE } else { base.trim_end_matches('/') };
    let ApiSettings { rate, account, uploads, .. } = settings;
    let heartbeat = settings.events.heartbeat_s.get().as_secs_f64();
    let values = [
        ("url", base.to_owned()),
        ("errors", errors()),
        ("verify_per_minute", rate.verify_per_minute.to_string()),
        ("submissions_per_minute", rate.submissions_per_minute.to_string()),
        ("get_per_minute", rate.get_per_minute.to_string()),
        ("models_per_minute", rate.models_per_minute.to_string()),
        ("models", account.models.to_string()),
        ("models_mib", account.models_mib.to_string()),
        ("max_model", size(settings.models.max_bytes)),
        ("write_per_minute", rate.write_per_minute.to_string()),
        ("active_jobs", account.active_jobs.to_string()),
        ("jobs_per_day", account.jobs_per_day.to_string()),
        ("submissions_per_day", account.submissions_per_day.to_string()),
        ("publications_per_day", account.publications_per_day.to_string()),
        ("streams", account.streams.to_string()),
        ("disk_mib", account.disk_mib.to_string()),
        ("max_archive", size(uploads.max_bytes)),
        ("max_scenario_archive", size(uploads.max_scenario_bytes)),
        ("max_episodes", settings.job.max_episodes.to_string()),
        ("heartbeat_s", heartbeat.to_string()),
    ];
    values.into_iter().fold(TEXT.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), &value))
}

/// Returns the groups of operations, in display order.
pub(in crate::routes) fn tags() -> Value {
    let tag = |name: &str, shown: &str, description: &str| json!({ "name": name, "x-displayName": shown, "description": description });
    json!([
        tag("verify", "Verifications", "Run a policy on a scenario, and get a verdict with its evidence."),
        tag(
            "models",
            "Models",
            "Large files that are uploaded once, in pieces, for the policies that name their digest."
        ),
        tag(
            "scenarios",
            "Scenarios",
            "The tasks that policies are evaluated on: built-in scenarios, and those that accounts publish."
        ),
        tag(
            "arena",
            "Arena",
            "Submissions to a season, which are ranked on worlds that stay secret until it is closed."
        ),
        tag("webhooks", "Webhooks", "The end of a job, reported to the `callback_url` that its client gave."),
        tag("workers", "Workers", "Workers on other hosts."),
        tag("keys", "Keys and sessions", "API keys, and the sessions of browsers."),
        tag("service", "Service", "The service itself: its state, its metrics, the keys that sign its statements."),
    ])
}

/// Formats a size with its unit.
fn size(bytes: u64) -> String {
    match bytes % MIB {
        0 => format!("{} MiB", bytes / MIB),
        _ => format!("{bytes} bytes"),
    }
}

/// Returns a table of the error codes and their statuses.
fn errors() -> String {
    let mut table = "| status | code | when |\n|---|---|---|\n".to_owned();
    for (status, meaning) in ERRORS {
        let (code, when) = meaning.split_once(": ").unwrap_or((meaning, ""));
        // Writing to a string can't fail.
        let _ = writeln!(table, "| {status} | `{code}` | {when} |");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_introduction_starts_with_the_first_steps() {
        let text = description(&ApiSettings::default());
        let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let first = ["Authentication", "A first request", "Limits", "Errors", "Events"];
        assert_eq!(headings[..first.len()], first);
        assert!(text.contains("| `POST /verify` | 10 |") && text.contains("at most 100 MiB"), "{text}");
    }

    #[test]
    fn placeholders_are_filled() {
        let settings = ApiSettings { public_url: Some("https://x.org/assay/".into()), ..ApiSettings::default() };
        let text = description(&settings);
        assert!(text.contains("https://x.org/assay/scenarios") && !text.contains(DEFAULT_BASE), "{text}");
        // The remaining braces are path parameters or JSON.
        let left: Vec<&str> =
            text.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name).collect();
        let names = left.iter().filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        assert!(names.clone().all(|name| ["id", "job_id"].contains(name)), "{left:?}");
        assert!(names.count() > 0);
    }
}
