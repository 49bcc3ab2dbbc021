//! The dashboard and the alert rules of docs/monitoring: they are valid and tested, and use existing metrics.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_model::Verdict;
use assay_testkit::{example, home, zip_folder};
use serde_json::Value;

use crate::serve::{CARTPOLE, JOB_LIMIT, assay, serve};

fn monitoring() -> PathBuf {
    home().join("docs/monitoring")
}

fn promtool(arguments: &[&str], folder: &Path) {
    let mut promtool = Command::new(home().join("vendor/promtool/promtool"));
    let done = promtool.args(arguments).current_dir(folder).output().expect("promtool: run tools/setup --dev");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{arguments:?}: {out}{err}");
}

fn dashboard() -> Value {
    serde_json::from_slice(&fs::read(monitoring().join("dashboard.json")).unwrap()).unwrap()
}

/// The queries of all panels.
fn queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// Words that may be names of metrics.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("assay_")).collect()
}

#[test]
fn the_rules_are_valid_and_fire() {
    promtool(&["check", "rules", "--lint-fatal", "alerts.yml"], &monitoring());
    promtool(&["test", "rules", "alerts.test.yml"], &monitoring());
    // Each alert fires in a test.
    let [rules, tests] =
        ["alerts.yml", "alerts.test.yml"].map(|name| fs::read_to_string(monitoring().join(name)).unwrap());
    let alerts = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    for alert in alerts {
        assert!(tests.contains(&format!("alertname: {alert}\n        exp_alerts:\n")), "{alert} fires in no test");
    }
}

#[test]
fn the_dashboard_is_valid() {
    let (assay, dashboard) = (assay(), dashboard());
    let mut rules = "groups:\n  - name: dashboard\n    rules:\n".to_owned();
    for (number, query) in queries(&dashboard).iter().enumerate() {
        let query = query.replace("$__rate_interval", "5m");
        writeln!(rules, "      - record: query:{number}\n        expr: {}", serde_json::json!(query)).unwrap();
    }
    assay.write("rules.yml", rules);
    promtool(&["check", "rules", "rules.yml"], &assay.path(""));
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels {
        assert!(panel["title"].as_str().is_some_and(|title| !title.is_empty()), "{panel:#}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "it works with any Prometheus");
        let place = &panel["gridPos"];
        assert!(place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24, "{place}");
    }
}

#[test]
fn every_monitored_metric_exists() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")]);
    assert_eq!(client.ended_job(&id, JOB_LIMIT).verdict, Some(Verdict::Safe));
    assert_eq!(server.client("assay_x_y").get("/verify").status, 401);
    let answer = String::from_utf8(client.download("/metrics")).unwrap();
    let samples = answer.lines().filter(|line| !line.starts_with('#'));
    let existing: BTreeSet<&str> = samples.filter_map(|line| line.split(['{', ' ']).next()).collect();

    let rules = fs::read_to_string(monitoring().join("alerts.yml")).unwrap();
    let dashboard = dashboard().to_string();
    let watched: BTreeSet<&str> = metrics(&rules).union(&metrics(&dashboard)).copied().collect();
    assert!(watched.len() > 8, "{watched:?}");
    for name in watched {
        assert!(existing.contains(name), "{name} is watched; there are {existing:?}");
    }
    // The documented metrics exist, and are on the dashboard.
    let page = fs::read_to_string(home().join("docs/operations.md")).unwrap();
    for name in &existing {
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(page.contains(family), "{family} is not in docs/operations.md");
        assert!(dashboard.contains(family), "{family} is not on the dashboard");
    }
}
