//! Findings for a policy's author, with advice.

use assay_model::{Finding, FindingLevel};
use assay_policy::{ThreadSetting, thread_settings};
use assay_report::remedy;
use assay_scenario::Scenario;

use super::attempt::{ANSWER_PATIENCE, IMPORT_PATIENCE};
use super::facts::{budget, is_deterministic, percentiles};
use super::job::PreflightJob;
use super::tries::{Tried, Tries};
use crate::PolicySource;

/// Share of a budget above which the author is warned.
const NEAR: f64 = 0.7;
/// Minimum number of equal actions that are more than a coincidence.
const MIN_CONSTANT: usize = 10;
/// Share of slow steps above which the author is warned; fewer may be caused by other processes.
const RARE: f64 = 0.05;

/// Returns the findings, the most severe first.
pub(super) fn of(job: &PreflightJob, tries: &Tries) -> Vec<Finding> {
    let Tries { first, second, blind } = tries;
    let (scenario, second) = (&*job.scenario, second.as_ref());
    let mut found = Vec::new();
    found.extend(error(first, second));
    found.extend(clipped(scenario, &first.probed.actions));
    found.extend(constant(&first.probed.actions));
    found.extend(second.and_then(|second| nondeterministic(first, second)));
    found.extend(blind.as_ref().and_then(|blind| unused_images(first, blind)));
    found.extend(threads(job));
    found.extend(import(scenario, first));
    found.extend(unfinished_import(scenario, first));
    found.extend(silent(first));
    found.extend(first_call(scenario, &first.probed.cpu_ms));
    found.extend(steps(job, &first.probed.cpu_ms));
    found.extend(server(job, first));
    found.sort_by_key(|finding: &Finding| finding.level);
    found
}

fn finding(level: FindingLevel, code: &str, message: impl Into<String>, advice: &str) -> Finding {
    Finding { level, code: code.to_owned(), message: message.into(), advice: advice.to_owned() }
}

/// Returns the finding for the error that stopped the policy; the codes are those of an episode's error.
fn error(first: &Tried, second: Option<&Tried>) -> Option<Finding> {
    let error = first.error.as_ref().or_else(|| second?.error.as_ref())?;
    let step = first.probed.actions.len();
    let advice = remedy(error);
    let when = if step == 0 { "before its first action".to_owned() } else { format!("at step {step}") };
    let message = format!("the policy stopped {when} ({}): {}", error.code, error.message);
    Some(finding(FindingLevel::Problem, "policy_error", message, &advice))
}

fn clipped(scenario: &Scenario, actions: &[Vec<f64>]) -> Vec<Finding> {
    let row = |(index, spec): (usize, &assay_scenario::ActionSpec)| {
        let column = || actions.iter().filter_map(move |action| action.get(index).copied());
        let outside = column().filter(|x| !(spec.low..=spec.high).contains(x)).count();
        let (least, greatest) = (column().reduce(f64::min)?, column().reduce(f64::max)?);
        // A ratio has no unit.
        let unit = if spec.unit == "1" { String::new() } else { format!(" {}", spec.unit) };
        let message = format!(
            "action[{index}] ({}) was outside {} to {}{unit} in {outside} of {} steps: it went from {least:.3} to {greatest:.3}",
            spec.name,
            spec.low,
            spec.high,
            actions.len(),
        );
        let advice = "values outside the range are clipped, so the robot does not do what was intended: check the unit, \
                      the order of the numbers, and whether the output is normalised";
        (outside > 0).then(|| finding(FindingLevel::Warning, "clipped", message, advice))
    };
    scenario.control.action.iter().enumerate().filter_map(row).collect()
}

fn constant(actions: &[Vec<f64>]) -> Option<Finding> {
    let first = actions.first()?;
    if actions.len() < MIN_CONSTANT || actions.iter().any(|action| action != first) {
        return None;
    }
    let message = format!("all {} actions were the same", actions.len());
    let advice = "check that it uses its observation: the keys are those of the table, and reading an unknown key with a \
                  default raises no KeyError";
    Some(finding(FindingLevel::Warning, "constant", message, advice))
}

fn nondeterministic(first: &Tried, second: &Tried) -> Option<Finding> {
    if is_deterministic(first, second) != Some(false) {
        return None;
    }
    let pairs = first.probed.actions.iter().zip(&second.probed.actions);
    let step = pairs.clone().position(|(a, b)| a != b).unwrap_or_default();
    let message = format!("the same observations led to different actions in the second run, from step {step} on");
    let advice = "its results can't be reproduced: derive all randomness from the seed passed to `reset`, and depend on \
                  neither the time nor the order of a set; a server has to forget the previous episode";
    Some(finding(FindingLevel::Warning, "nondeterministic", message, advice))
}

fn unused_images(first: &Tried, blind: &Tried) -> Option<Finding> {
    let steps = first.probed.actions.len().min(blind.probed.actions.len());
    // A policy may use its images only later; a few steps prove nothing.
    if steps < MIN_CONSTANT || blind.error.is_some() || is_deterministic(first, blind) != Some(true) {
        return None;
    }
    let message = format!("black images led to the same {steps} actions: the policy has not used its images so far");
    let advice = "if it never uses them, choose a scenario without images, which runs much faster";
    Some(finding(FindingLevel::Warning, "unused_images", message, advice))
}

/// Returns the findings for lines of the policy's files that let a library use more than one thread.
fn threads(job: &PreflightJob) -> Vec<Finding> {
    let PolicySource::Folder(folder) = &job.policy else { return Vec::new() };
    let found = thread_settings(&folder.path);
    let finding = |setting: ThreadSetting| {
        let ThreadSetting { file, line, name, threads } = setting;
        let message = format!("{file}, line {line}: {name} is {threads}, but a policy has one processor");
        let advice = format!(
            "set {name} to 1: threads that wait for each other take CPU time, and ONNX Runtime's can keep an import from \
             ending before its limit"
        );
        finding(FindingLevel::Warning, "threads", message, &advice)
    };
    found.into_iter().map(finding).collect()
}

fn import(scenario: &Scenario, tried: &Tried) -> Option<Finding> {
    let (took, limit) = (tried.import_cpu?.as_secs_f64() * 1e3, budget(scenario).import_cpu_ms);
    let message = format!("the import took {took:.0} ms of CPU time; the limit is {limit:.0} ms");
    let advice = "every episode imports the policy again: move work into files that load fast";
    (took > NEAR * limit).then(|| finding(FindingLevel::Warning, "slow_import", message, advice))
}

/// Returns the finding for an import that exceeds the preflight's limit, after which nothing else was tried.
fn unfinished_import(scenario: &Scenario, tried: &Tried) -> Option<Finding> {
    let (cpu, patience, limit) = (tried.given_up?, IMPORT_PATIENCE.as_secs_f64(), budget(scenario).import_cpu_ms / 1e3);
    let message = format!(
        "the import was stopped after {patience} s of work and sleep ({:.1} s of CPU time; an episode allows {limit:.1} s), \
         so no step was run",
        cpu.as_secs_f64()
    );
    let advice = "every episode imports the policy again: move work into files that load fast, do not wait for anything, and let \
                  libraries use one thread (`intra_op_num_threads = 1` in ONNX Runtime), because a policy has one processor";
    Some(finding(FindingLevel::Warning, "slow_import", message, advice))
}

/// Returns the finding for an answer that exceeds the preflight's limit, after which nothing else was tried.
fn silent(tried: &Tried) -> Option<Finding> {
    let message = format!("no answer within {} s, so no further step was run", ANSWER_PATIENCE.as_secs_f64());
    let advice = "an evaluation waits longer, but every episode would start this slowly: do the work of the first call during \
                  the import or in `reset`; a server must load its model before it serves, and be reachable from here";
    tried.silent.then(|| finding(FindingLevel::Warning, "slow_answer", message, advice))
}

fn first_call(scenario: &Scenario, cpu_ms: &[f64]) -> Option<Finding> {
    let (took, limit) = (*cpu_ms.first()?, scenario.budget.first_cpu_ms);
    let message = format!("the first call took {took:.0} ms of CPU time; the limit is {limit:.0} ms");
    let advice = "do the work of the first call in `reset` or during the import";
    (took > NEAR * limit).then(|| finding(FindingLevel::Warning, "slow_first", message, advice))
}

/// Returns the CPU time of each step after the first, or the mean of each chunk of a policy that executes
/// `replan_steps` actions before it computes again.
fn later_steps(cpu_ms: &[f64], replan_steps: Option<u32>) -> Vec<f64> {
    let length = replan_steps.unwrap_or(1).max(1) as usize;
    let counted: Vec<f64> = std::iter::once(0.0).chain(cpu_ms.iter().copied().skip(1)).collect();
    let means = counted.chunks(length).map(|chunk| chunk.iter().sum::<f64>() / length as f64);
    means.skip(usize::from(length == 1)).collect()
}

fn steps(job: &PreflightJob, cpu_ms: &[f64]) -> Option<Finding> {
    let scenario = &job.scenario;
    let later = later_steps(cpu_ms, job.replan_steps());
    let limit = scenario.budget.step_cpu_ms;
    let near = later.iter().filter(|ms| **ms > NEAR * limit).count();
    if near as f64 <= RARE * later.len() as f64 {
        return None;
    }
    let p95 = percentiles(&later)?.p95;
    let message = format!(
        "{near} of {} steps took more than {:.0} ms of CPU time (95th percentile: {p95:.0} ms); a step over {limit:.0} ms \
         counts as a miss",
        later.len(),
        NEAR * limit
    );
    let advice = "on a slower machine some steps will be misses, and misses require a review: do less work per step";
    Some(finding(FindingLevel::Warning, "slow_step", message, advice))
}

/// Returns the findings that apply to servers only.
fn server(job: &PreflightJob, tried: &Tried) -> Vec<Finding> {
    let Some(answers) = tried.answers.filter(|answers| answers.count > 0) else { return Vec::new() };
    let mut found = Vec::new();
    let chunk = if answers.shortest == answers.longest {
        format!("{} actions per answer", answers.longest)
    } else {
        format!("{} to {} actions per answer", answers.shortest, answers.longest)
    };
    match job.replan_steps() {
        Some(steps) if steps > answers.shortest => found.push(finding(
            FindingLevel::Warning,
            "replan",
            format!("{chunk}, but {steps} are to be executed before the next request (replan_steps)"),
            "all actions of a shorter answer are executed, so the server is asked earlier than you intended",
        )),
        Some(steps) => {
            let message = format!("{chunk}, of which {steps} are executed (replan_steps)");
            found.push(finding(FindingLevel::Note, "chunk", message, "the rest are dropped"));
        }
        None if answers.longest > 1 => found.push(finding(
            FindingLevel::Note,
            "chunk",
            format!("{chunk}, all of which are executed before the next request"),
            "with --replan-steps N (replan_steps) the server is asked again after N of them, which suits most policies",
        )),
        None => {}
    }
    let waits: Vec<f64> = tried.probed.latency_ms.iter().copied().skip(1).collect();
    // Mean over control steps: a chunk's latency is spread over the steps that it covers.
    let mean_ms = waits.iter().sum::<f64>() / waits.len().max(1) as f64;
    let period_ms = 1e3 / job.scenario.world.control_hz;
    if mean_ms > period_ms {
        found.push(finding(
            FindingLevel::Note,
            "slow_server",
            format!("{mean_ms:.0} ms per control step of {period_ms:.0} ms: too slow for a real robot"),
            "here simulated time waits for the server; a real robot needs more actions per answer or a faster model",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use assay_model::frame::{ArraySpec, Dtype};
    use assay_model::lane::Probed;
    use assay_policy::remote::{AnswerCounts, PolicyServer, ServerEndpoint};

    use super::*;

    fn job(replan_steps: Option<u32>) -> PreflightJob {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scenario = Scenario::load(&root.join("scenarios/cartpole_keepin"), &root.join("robots")).unwrap();
        let endpoint = ServerEndpoint::parse("ws://127.0.0.1:8000").unwrap();
        let server = PolicyServer { endpoint, api_key: None, replan_steps };
        PreflightJob {
            scenario: Arc::new(scenario),
            policy: PolicySource::Server { server, concurrency: 1 },
            policy_name: "p".into(),
            policy_sha256: None,
        }
    }

    fn tried(actions: &[f64]) -> Tried {
        let actions: Vec<_> = actions.iter().map(|x| vec![*x]).collect();
        let latency_ms = vec![1.0; actions.len()];
        Tried { probed: Probed { actions, latency_ms, ..Probed::default() }, ..Tried::default() }
    }

    fn codes(job: &PreflightJob, first: Tried, second: Option<Tried>, blind: Option<Tried>) -> Vec<String> {
        of(job, &Tries { first, second, blind }).into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn each_finding_has_its_cause() {
        let job = job(None);
        let actions: Vec<f64> = (0..20).map(f64::from).map(|x| x / 10.0).collect();
        let honest = || tried(&actions);
        let none: Vec<String> = Vec::new();
        assert_eq!(codes(&job, honest(), Some(honest()), None), none);
        assert_eq!(codes(&job, tried(&[13.0, 0.0]), None, None), ["clipped"]);
        assert_eq!(codes(&job, tried(&[1.0; 12]), None, None), ["constant"]);
        assert_eq!(codes(&job, tried(&[1.0; 5]), None, None), none, "may be a coincidence");
        assert_eq!(codes(&job, honest(), Some(tried(&[0.0, 0.2])), None), ["nondeterministic"]);
        assert_eq!(codes(&job, honest(), Some(tried(&actions[..3])), None), none, "the second try ended earlier");
        assert_eq!(codes(&job, honest(), Some(tried(&[-0.0])), None), ["nondeterministic"], "the bits differ");
        let mut importing = honest();
        importing.import_cpu = Some(Duration::from_secs(9));
        assert_eq!(codes(&job, importing, None, None), ["slow_import"]);
        let given_up = Tried { given_up: Some(Duration::from_secs(1)), ..Tried::default() };
        assert_eq!(codes(&job, given_up, None, None), ["slow_import"]);
        assert_eq!(codes(&job, Tried { silent: true, ..Tried::default() }, None, None), ["slow_answer"]);
        let with_cpu = |first: f64, others: f64| {
            let mut tried = honest();
            tried.probed.cpu_ms = [vec![first], vec![others; 19]].concat();
            tried
        };
        let budget = job.scenario.budget;
        assert_eq!(codes(&job, with_cpu(0.9 * budget.first_cpu_ms, 1.0), None, None), ["slow_first"]);
        assert_eq!(codes(&job, with_cpu(1.0, 0.9 * budget.step_cpu_ms), None, None), ["slow_step"]);
        assert_eq!(codes(&job, with_cpu(1.0, 0.5 * budget.step_cpu_ms), None, None), none);
        let mut seeing = honest();
        seeing.probed.observation = vec![ArraySpec { name: "image".into(), dtype: Dtype::U8, shape: vec![4, 4, 3] }];
        assert_eq!(codes(&job, seeing, Some(honest()), Some(honest())), ["unused_images"]);
        assert_eq!(codes(&job, honest(), Some(honest()), Some(tried(&[0.0, 0.5]))), none, "it uses its images");
        let few = || tried(&[0.0, 0.1, 0.2]);
        let mut seeing = few();
        seeing.probed.observation = vec![ArraySpec { name: "image".into(), dtype: Dtype::U8, shape: vec![4, 4, 3] }];
        assert_eq!(codes(&job, seeing, Some(few()), Some(few())), none, "too few to tell");
    }

    #[test]
    fn a_ratio_has_no_unit() {
        for (unit, range) in
            [("1", "was outside -12 to 12 in 1 of 2 steps"), ("N", "was outside -12 to 12 N in 1 of 2")]
        {
            let mut scenario = (*job(None).scenario).clone();
            scenario.control.action[0].unit = unit.into();
            let found = clipped(&scenario, &[vec![13.0], vec![0.0]]);
            assert!(found[0].message.contains(range), "{}", found[0].message);
        }
    }

    #[test]
    fn a_servers_answers_are_compared_with_the_number_of_executed_actions() {
        let answering = |shortest: u32, longest: u32, latency_ms: f64| {
            let mut tried = tried(&[0.0, 0.1, 0.2]);
            tried.answers = Some(AnswerCounts { count: 2, shortest, longest, unasked: 0 });
            tried.probed.latency_ms = vec![latency_ms; 3];
            tried
        };
        let codes_of = |replan, answers: Tried| codes(&job(replan), answers, None, None);
        assert_eq!(codes_of(None, answering(1, 1, 1.0)), Vec::<String>::new());
        assert_eq!(codes_of(None, answering(8, 8, 1.0)), ["chunk"]);
        assert_eq!(codes_of(Some(4), answering(8, 8, 1.0)), ["chunk"]);
        assert_eq!(codes_of(Some(9), answering(8, 10, 1.0)), ["replan"]);
        assert_eq!(codes_of(None, answering(1, 1, 30.0)), ["slow_server"], "50 actions a second");
    }

    #[test]
    fn the_error_that_stops_a_policy_comes_first() {
        let mut failed = tried(&[13.0]);
        let error = |code| assay_model::EpisodeError { code, message: "m".into(), log_tail: "".into() };
        failed.error = Some(error(assay_model::PolicyErrorCode::Exception));
        assert_eq!(codes(&job(None), failed, None, None), ["policy_error", "clipped"]);
        let mut second = tried(&[1.0]);
        second.error = Some(error(assay_model::PolicyErrorCode::Closed));
        assert_eq!(codes(&job(None), tried(&[1.0]), Some(second), None), ["policy_error"]);
    }
}
