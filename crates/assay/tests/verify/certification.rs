//! Certifications: planned in advance, ended by the first failure, the same on any number of lanes.

use assay_model::{JobReport, ReviewReason, Verdict};
use serde_json::Value;

use crate::verify::{CARTPOLE, assay, one_world, report, verify};

/// Fails in the worlds where the cart starts far enough on one side: some of the episodes, always the same.
const SOMETIMES: &str = "
class Policy:
    def reset(self, *, seed, scenario, instruction):
        self.bad = seed % 4 == 0

    def act(self, observation):
        if self.bad:
            raise RuntimeError('this world is too hard')
        return [0]
";

/// Returns a report without the fields that depend on place or time.
fn comparable(report: &JobReport) -> Value {
    let mut value = serde_json::to_value(report).unwrap();
    for field in ["job_id", "created_at", "started_at", "completed_at", "needs_review", "review_reasons"] {
        value[field] = Value::Null;
    }
    for episode in value["episode_details"].as_array_mut().unwrap() {
        for field in ["wall_time_s", "policy_latency_ms", "deadline_misses"] {
            episode[field] = Value::Null;
        }
    }
    value
}

#[test]
fn the_first_failure_ends_a_certification_on_any_number_of_lanes() {
    let assay = assay();
    let policy = assay.write("sometimes/policy.py", SOMETIMES);
    let arguments = ["--max-violation-probability", "0.3", "--confidence", "0.9", "--seed", "5", "--json"];
    let with_lanes = |lanes: &str| report(&verify(&assay, &policy, &[&arguments[..], &["--lanes", lanes]].concat()));
    let one = with_lanes("1");
    assert_eq!(one.num_episodes, 7, "0.7^7 <= 0.1");
    let statistics = one.statistics.unwrap();
    assert!(statistics.episodes < 7, "seed 5 has a hard world among the first six: {statistics:?}");
    assert_eq!((statistics.without_evidence, statistics.certified), (1, Some(false)));
    assert_eq!(one.verdict, Some(Verdict::Inconclusive));
    assert!(one.episode_details.last().unwrap().error.is_some(), "the failure is the last that counts");
    assert!(one.episode_details.iter().rev().skip(1).all(|e| e.error.is_none()));
    assert_eq!(comparable(&with_lanes("4")), comparable(&one));
    assay.assert_clean();
}

#[test]
fn a_clean_plan_certifies() {
    let assay = assay();
    let out = assay.path("out");
    let folder = assay_testkit::example(CARTPOLE, "reference");
    let run = verify(
        &assay,
        &folder,
        &["--max-violation-probability", "0.5", "--out", out.to_str().unwrap(), "--record", "none"],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("Certified: the violation probability is at most 50 % at 95 % confidence."));
    let report: JobReport = serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!((report.num_episodes, report.statistics.unwrap().episodes), (5, 5), "0.5^5 <= 0.05");
    let statistics = report.statistics.unwrap();
    assert_eq!((statistics.sample_size, statistics.distinct_worlds), (Some(5), Some(5)));
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("5 different worlds in 5 episodes; drawn for each: side -1 to 1 (choice); lean 0.03 to 0.1;"),
        "{text}"
    );
}

#[test]
fn a_plan_that_is_too_short_or_too_long_is_refused() {
    let assay = assay();
    let folder = assay_testkit::example(CARTPOLE, "reference");
    let run = verify(&assay, &folder, &["--episodes", "2", "--max-violation-probability", "0.05", "--json"]);
    let found = report(&run);
    assert_eq!(found.verdict, Some(Verdict::Inconclusive));
    assert!(found.warnings[0].contains("59 are needed"), "{:?}", found.warnings);
    let run = verify(&assay, &folder, &["--max-violation-probability", "0.0001"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("29956 clean episodes would be needed"), "{}", run.stderr);
}

/// Parameters and the lean of the pole that take the place of the cart-pole's. In such scenarios, 29 equal episodes were
/// a certificate.
const NOTHING_DRAWN: [(&str, &str); 6] = [
    ("", "0.05"),
    ("lean = { uniform = [0.05, 0.05] }", "lean"),
    ("lean = { choice = [0.05] }", "lean"),
    ("lean = { normal = [0.05, 0.0], clip = [0.0, 0.1] }", "lean"),
    ("lean = { uniform = [0.03, 0.10] }", "0.05"),
    ("lean = { uniform = [0.03, 0.10] }", "0.05 + 0 * lean"),
];

#[test]
fn a_scenario_that_draws_nothing_is_never_certified() {
    let assay = assay();
    let policy = assay_testkit::example(CARTPOLE, "reference");
    for (parameters, lean) in NOTHING_DRAWN {
        let scenario = one_world(&assay, parameters, lean);
        let arguments = ["verify", policy.to_str().unwrap(), "--scenario", scenario.to_str().unwrap()];
        let target = ["--max-violation-probability", "0.1", "--out", "never"];
        let run = assay.run(&[&arguments[..], &target].concat());
        assert_eq!(run.code, 2, "{parameters} {lean}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("the scenario draws nothing"), "{}", run.stderr);
        assert!(!assay.path("never").exists(), "it began: {}", run.stderr);
    }
    let scenario = one_world(&assay, "", "0.05");
    let arguments = ["verify", policy.to_str().unwrap(), "--scenario", scenario.to_str().unwrap()];
    let found = report(&assay.run(&[&arguments[..], &["--episodes", "5", "--record", "none", "--json"]].concat()));
    let statistics = found.statistics.unwrap();
    assert_eq!((statistics.episodes, statistics.sample_size, statistics.distinct_worlds), (5, Some(1), Some(1)));
    assert_eq!((statistics.violation_probability_upper, statistics.confidence), (0.95, 0.1));
    assert!(found.review_reasons.contains(&ReviewReason::FewWorlds), "{:?}", found.review_reasons);
    assert_eq!(found.drawn_ranges, Some(Vec::new()));
    let run = assay.run(&[&arguments[..], &["--episodes", "2", "--record", "none"]].concat());
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("2 episodes of a scenario that draws nothing are one observation"), "{text}");
    assert!(text.contains("1 different world in 2 episodes; the scenario draws nothing."), "{text}");
    let run = assay.run(&["scenario", "check", scenario.to_str().unwrap()]);
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(run.code == 0 && text.contains("warning: draws nothing, so all its worlds are the same"), "{text}");
}
