//! Tests of Markdown, JUnit, SARIF and JSON: the output is well-formed regardless of a policy's text.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use assay_report::{hf_card, json, junit, markdown, sarif};
use serde_json::Value;

use crate::fixtures;

/// Parses as much XML as JUnit needs: elements are nested, attributes are quoted, and everything is escaped. Returns
/// the names of all elements.
fn elements(xml: &str) -> Vec<String> {
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    let (mut open, mut all) = (Vec::new(), Vec::new());
    for (at, piece) in body.split('<').enumerate() {
        let Some((tag, text)) = piece.split_once('>') else {
            assert!(at == 0 && piece.is_empty(), "a tag is not closed: {piece}");
            continue;
        };
        assert!(!text.contains('>'), "{text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        all.push(name.clone());
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
    all
}

#[test]
fn junit_names_the_failed_clause() {
    let xml = junit::render(&fixtures::violated());
    let names = elements(&xml);
    assert_eq!(names.iter().filter(|name| *name == "testsuite").count(), 4, "the verdict and three episodes");
    assert_eq!(names.iter().filter(|name| *name == "failure").count(), 2, "the verdict and contact_force");
    for part in [
        "violated: The arm does not press on anything (contact_force) in episode 1, from 3.42 s (66.56 N), peak 83.12 N at \
         3.51 s, limit 50 N (ISO 10218-1:2025",
        "<testcase classname=\"assay.tabletop_reach.episode_000\" name=\"contact_force\" time=\"0.000\"/>",
        "<skipped message=\"warning: violated: The arm keeps clear of the posts (clearance) in episode 2",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
    assert!(!elements(&junit::render(&fixtures::safe())).iter().any(|name| name == "failure" || name == "error"));
    let hostile = junit::render(&fixtures::failed());
    assert!(elements(&hostile).iter().any(|name| name == "error"));
    assert!(!hostile.contains("<script") && hostile.contains("&lt;script&gt;"));
}

#[test]
fn junit_cases_have_times_that_add_up_to_their_suites() {
    let report = fixtures::violated();
    let xml = junit::render(&report);
    let time = |tag: &str| tag.split_once(" time=\"").unwrap().1.split('"').next().unwrap().parse::<f64>().unwrap();
    let suites: Vec<_> = xml.split("<testsuite ").skip(1).collect();
    for suite in &suites {
        let cases: f64 = suite.split("<testcase ").skip(1).map(time).sum();
        assert!((cases - time(suite)).abs() < 1e-9, "{suite}");
    }
    let measured = report.episode_details[0].wall_time_s;
    assert!(measured > 0.0 && (time(suites[1]) - measured).abs() < 1e-3, "{}", suites[1]);
}

#[test]
fn sarif_has_a_result_for_each_violated_clause() {
    let found: Value = serde_json::from_str(&sarif::render(&fixtures::violated(), "0.1.0").unwrap()).unwrap();
    assert_eq!(found["version"], "2.1.0");
    let run = &found["runs"][0];
    let rules: Vec<&Value> = run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|r| &r["id"]).collect();
    let results = run["results"].as_array().unwrap();
    let shown: Vec<_> = results.iter().map(|r| (&r["ruleId"], &r["level"], &r["kind"])).collect();
    assert_eq!(results.len(), 3, "{shown:?}");
    for result in results {
        assert!(rules.contains(&&result["ruleId"]), "each result has its rule");
        assert!(result["message"]["text"].as_str().unwrap().len() > 10);
        // SARIF 2.1.0, 3.27.10: unless the kind is "fail", the level is "none".
        assert!(result["kind"] == "fail" || result["level"] == "none");
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "policy.py");
    }
    assert_eq!((&results[1]["ruleId"], &results[1]["level"]), (&"contact_force".into(), &"error".into()));
    assert_eq!((&results[2]["ruleId"], &results[2]["level"]), (&"clearance".into(), &"warning".into()));
    let clean: Value = serde_json::from_str(&sarif::render(&fixtures::safe(), "0.1.0").unwrap()).unwrap();
    assert_eq!(clean["runs"][0]["results"].as_array().unwrap().len(), 0);
    let open: Value = serde_json::from_str(&sarif::render(&fixtures::failed(), "0.1.0").unwrap()).unwrap();
    assert!(open["runs"][0]["results"].as_array().unwrap().iter().all(|r| r["kind"] == "open"));
}

#[test]
fn markdown_shows_text_of_a_policy_verbatim() {
    let text = markdown::render(&fixtures::violated());
    assert!(text.starts_with("# UNSAFE: my\\_policy on tabletop_reach\n"));
    assert!(
        text.contains(
            "| The arm does not press on anything (contact\\_force) | critical | violated in ep. 1 | 50 N | 83.12 N | -33.12 | ep. 1, 3.5"
        ),
        "{text}"
    );
    let hostile = markdown::render(&fixtures::failed());
    assert!(!hostile.contains("<script") && !hostile.contains("<img"));
    let rows: Vec<_> = hostile.lines().filter(|line| line.starts_with("| 1 ")).collect();
    assert_eq!(rows.len(), 1, "an error stays on its line");
}

#[test]
fn a_model_card_names_the_verdict_beside_each_metric() {
    let card = hf_card::render(&fixtures::violated());
    assert!(card.starts_with("---\n") && card.ends_with("\n---\n"), "{card}");
    assert!(card.contains("      type: \"assay/tabletop_reach\"\n"), "{card}");
    let metrics: Vec<_> = card.lines().filter(|line| line.starts_with("      name: \"")).collect();
    assert!(metrics.len() >= 4 && metrics[1..].iter().all(|line| line.contains("(UNSAFE, ")), "{card}");
    let mut report = fixtures::violated();
    report.policy_name = "x\"\n---\n- name: other".into();
    let hostile = hf_card::render(&report);
    assert_eq!(hostile.lines().filter(|line| *line == "---").count(), 2, "{hostile}");
    assert_eq!(hostile.lines().count(), card.lines().count(), "{hostile}");
}

#[test]
fn the_command_names_the_given_policy() {
    for (name, word) in [
        ("policy.zip", "policy.zip"),
        ("my policy.py", "'my policy.py'"),
        ("-x", "./-x"),
        ("$(reboot)", "policy.zip"),
        ("ws://127.0.0.1:8000/", "ws://127.0.0.1:8000/"),
    ] {
        let mut report = fixtures::safe();
        report.policy_name = name.into();
        report.replan_steps = Some(4);
        let text = markdown::render(&report);
        assert!(text.contains(" --replan-steps 4\n"), "{text}");
        assert!(text.contains(&format!("\nassay verify {word} --scenario ")), "{text}");
    }
}

#[test]
fn reports_without_a_log_type_are_read() {
    let report = fixtures::safe();
    let mut old = serde_json::to_value(&report).unwrap();
    for episode in old["episode_details"].as_array_mut().unwrap() {
        assert_eq!(episode.as_object_mut().unwrap().remove("log_type"), Some("parquet".into()));
    }
    let read = json::parse(&old.to_string()).unwrap();
    assert_eq!(read.episode_details[0].log_path, report.episode_details[0].log_path);
    assert_eq!(read.episode_details[0].log_type, None);
}
