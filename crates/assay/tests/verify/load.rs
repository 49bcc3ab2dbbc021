//! Results do not depend on other load on the machine.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use assay_model::JobReport;
use assay_testkit::example;

use crate::verify::{CARTPOLE, assay, report, verify};

/// Returns all parts of a result except for wall-clock measurements.
pub(crate) fn result_of(job: JobReport) -> Vec<String> {
    let numbers = format!("{:?} {:?} {:?} {:?}", job.verdict, job.score, job.composite_score, job.consistency);
    let episodes = job.episode_details.into_iter().map(|mut episode| {
        episode.wall_time_s = 0.0;
        episode.policy_latency_ms = None;
        format!("{episode:?}")
    });
    std::iter::once(numbers).chain(episodes).collect()
}

#[test]
fn a_busy_machine_gives_the_same_result() {
    let assay = assay();
    let policy = example(CARTPOLE, "reckless");
    let arguments = ["--episodes", "2", "--seed", "11", "--json", "--record", "none"];
    let quiet = result_of(report(&verify(&assay, &policy, &arguments)));
    let done = AtomicBool::new(false);
    let busy = thread::scope(|scope| {
        // Two per processor, at a higher priority than lanes and policies.
        for _ in 0..2 * thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        let run = verify(&assay, &policy, &arguments);
        done.store(true, Ordering::Relaxed);
        report(&run)
    });
    assert_eq!(quiet, result_of(busy));
}
