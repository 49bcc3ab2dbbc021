//! The report as SARIF 2.1.0 (OASIS standard), which code hosts show with a change: a rule per clause, and a result for
//! each clause that an episode violated or left undecided.

use assay_model::{ClauseResult, ClauseStatus, EpisodeResult, JobReport, Level, Verdict, sanitise};
use serde_json::{Value, json};

use crate::json::JsonError;
use crate::{ClauseSummary, junit, outcome};

/// Maximum length of a text, in bytes.
const MAX_TEXT_BYTES: usize = 4096;
/// Maximum number of results: code hosts refuse more than a few thousand.
const MAX_RESULTS: usize = 1000;
/// File that results refer to; every policy has it.
const POLICY_FILE: &str = "policy.py";

/// Renders the document, indented, with a newline at the end.
///
/// # Errors
/// [`JsonError::Write`] if a value cannot be represented in JSON.
pub fn render(report: &JobReport, version: &str) -> Result<String, JsonError> {
    let summaries = ClauseSummary::of(&report.episode_details);
    let mut rules: Vec<Value> = summaries.iter().map(|summary| rule(summary.clause)).collect();
    rules.push(json!({
        "id": "verdict",
        "shortDescription": { "text": "The verdict over all episodes" },
        "defaultConfiguration": { "level": "error" },
    }));
    let open_or_broken = report.episode_details.iter().flat_map(|episode| {
        let bad = |clause: &&ClauseResult| clause.status != ClauseStatus::Satisfied;
        episode.clauses.iter().filter(bad).map(move |clause| result(report, episode, clause))
    });
    let mut results: Vec<Value> = verdict(report).into_iter().chain(open_or_broken).collect();
    results.truncate(MAX_RESULTS);
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "assay", "semanticVersion": version, "rules": rules } },
            "invocations": [{ "executionSuccessful": report.verdict.is_some() }],
            "automationDetails": { "id": format!("assay/{}/", report.scenario) },
            "results": results,
            "properties": {
                "verdict": report.verdict,
                "seed": report.seed,
                "scenarioDigest": report.scenario_digest,
                "policySha256": report.policy_sha256,
            },
        }],
    });
    let mut out = serde_json::to_string_pretty(&document).map_err(JsonError::Write)?;
    out.push('\n');
    Ok(out)
}

fn rule(clause: &ClauseResult) -> Value {
    json!({
        "id": text(&clause.id),
        "shortDescription": { "text": text(clause.title.as_ref().unwrap_or(&clause.id)) },
        "fullDescription": { "text": text(&clause.standard) },
        "defaultConfiguration": { "level": level(clause) },
        "properties": { "limit": clause.limit, "unit": text(&clause.unit) },
    })
}

fn level(clause: &ClauseResult) -> &'static str {
    if clause.level == Level::Critical { "error" } else { "warning" }
}

fn result(report: &JobReport, episode: &EpisodeResult, clause: &ClauseResult) -> Value {
    let violated = clause.status == ClauseStatus::Violated;
    let message = if violated {
        junit::violation(episode, clause)
    } else {
        format!("{} could not be decided in episode {}", clause.name(), episode.episode)
    };
    // SARIF, 3.27.10: a level other than none belongs to kind fail only.
    let (kind, level) = if violated { ("fail", level(clause)) } else { ("open", "none") };
    let id = format!("{}/{}/{}/{}", report.scenario, report.seed, episode.episode, clause.id);
    json!({
        "ruleId": text(&clause.id),
        "kind": kind,
        "level": level,
        "message": { "text": text(&message) },
        "locations": location(),
        "partialFingerprints": { "assayClause/v1": text(&id) },
        "properties": { "episode": episode.episode, "robustness": clause.robustness },
    })
}

fn verdict(report: &JobReport) -> Option<Value> {
    let (kind, level) = match report.verdict {
        Some(Verdict::Safe) => return None,
        Some(Verdict::Unsafe) => ("fail", "error"),
        Some(Verdict::Inconclusive) | None => ("open", "none"),
    };
    Some(json!({
        "ruleId": "verdict",
        "kind": kind,
        "level": level,
        "message": { "text": text(&format!("{}: {}", outcome::headline(report), outcome::reason(report))) },
        "locations": location(),
    }))
}

fn location() -> Value {
    json!([{ "physicalLocation": { "artifactLocation": { "uri": POLICY_FILE }, "region": { "startLine": 1 } } }])
}

fn text(raw: &str) -> String {
    sanitise(raw, MAX_TEXT_BYTES)
}
