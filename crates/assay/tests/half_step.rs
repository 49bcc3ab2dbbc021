//! `docs/half_step.py`: no critical clause depends on the physics step. The table of `docs/contact-forces.md` is made
//! here.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use assay_model::JobReport;
use assay_testkit::{Assay, example, home};
use serde::Deserialize;

/// Environment variable with a number of episodes: measures every scenario and regenerates the document's table.
const EPISODES: &str = "ASSAY_HALF_STEP";
/// Those of every scenario that move.
const POLICIES: [&str; 2] = ["reference", "reckless"];
/// The document with the table.
const BEGIN: &str = "<!-- table: scenarios -->\n";
const END: &str = "<!-- end of table: scenarios -->";
const TABLE_HEAD: &str =
    "| scenario | policy | clause | restarts | median | 95 % | greatest |\n|---|---|---|---|---|---|---|\n";
/// Minimum shift in the 95th percentile, as a share of the scale, for an entry in the table.
const WORTH_TELLING: f64 = 0.005;
/// Maximum change of a critical clause's margin at half the step, as a share of its scale: median and 95th
/// percentile.
const MOST_SHIFT: f64 = 0.05;

#[derive(Debug, Deserialize)]
struct Row {
    clause: String,
    level: String,
    restarts: u32,
    median: f64,
    p95: f64,
    greatest: f64,
}

/// Measures the effect of half the step on episodes of an example policy.
fn measured(scenario: &str, policy: &str, episodes: u32) -> Vec<Row> {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let (folder, out, episodes) = (example(scenario, policy), assay.path("out"), episodes.to_string());
    let run = assay.run(&[
        "verify",
        folder.to_str().unwrap(),
        "--scenario",
        scenario,
        "--seed",
        "0",
        "--episodes",
        &episodes,
        "--record",
        "none",
        "--json",
        "--out",
        out.to_str().unwrap(),
    ]);
    let _: JobReport = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{scenario}: {e}: {}", run.stderr));
    let root = home();
    let mut python = Command::new(root.join("vendor/dev-venv/bin/python"));
    python.arg(root.join("docs/half_step.py")).arg(&out).args(["--json", "--trust-model"]).env_remove("GLIBC_TUNABLES");
    let output = python.output().expect("vendor/dev-venv is made by tools/setup --dev");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{scenario}: {e}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Fails if the margin of a critical clause moves too far.
#[track_caller]
fn converges(scenario: &str, policy: &str, rows: &[Row]) {
    for row in rows {
        assert!(row.restarts > 0, "{scenario}, {policy}: no restarts");
        let moved = row.median.max(row.p95);
        assert!(row.level != "critical" || moved <= MOST_SHIFT, "{scenario}, {policy}: half the step moves {row:?}");
    }
}

/// Returns a few episodes of three policies, or all episodes of the document.
fn rehearsals() -> Vec<(String, &'static str, u32)> {
    let Some(episodes) = std::env::var(EPISODES).ok().map(|text| text.parse().unwrap()) else {
        let few = [("tabletop_reach", "reckless"), ("stack_blocks", "reference"), ("quadrotor_gates", "reckless")];
        return few.map(|(scenario, policy)| (scenario.to_owned(), policy, 1)).to_vec();
    };
    let folders = std::fs::read_dir(home().join("scenarios")).unwrap();
    let folders = folders.map(Result::unwrap).filter(|folder| folder.path().join("scenario.toml").is_file());
    let scenarios: BTreeSet<String> = folders.map(|folder| folder.file_name().into_string().unwrap()).collect();
    scenarios.into_iter().flat_map(|name| POLICIES.map(|policy| (name.clone(), policy, episodes))).collect()
}

#[test]
fn half_the_step_moves_no_critical_margin() {
    let mut table = TABLE_HEAD.to_owned();
    for (scenario, policy, episodes) in rehearsals() {
        eprintln!("{scenario}, {policy}: {episodes} episodes");
        let rows = measured(&scenario, policy, episodes);
        for row in rows.iter().filter(|row| row.p95 > WORTH_TELLING) {
            let [median, p95, greatest] = [row.median, row.p95, row.greatest].map(|share| 100.0 * share);
            let (clause, restarts) = (&row.clause, row.restarts);
            let mark = if row.level == "critical" { "" } else { " (warning)" };
            let figures = format!("{restarts} | {median:.1} % | {p95:.1} % | {greatest:.0} %");
            writeln!(table, "| `{scenario}` | {policy} | `{clause}`{mark} | {figures} |").unwrap();
        }
        converges(&scenario, policy, &rows);
    }
    if std::env::var_os(EPISODES).is_some() {
        write(&table);
    }
}

/// Writes the table between its marks in the document.
fn write(table: &str) {
    let document = home().join("docs/contact-forces.md");
    let text = std::fs::read_to_string(&document).unwrap();
    let (head, rest) = text.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    std::fs::write(document, format!("{head}{BEGIN}{table}{END}{tail}")).unwrap();
}
