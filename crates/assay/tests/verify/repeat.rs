//! The same archive, scenario and seed give the same traces, regardless of all other conditions.

use std::sync::atomic::{AtomicBool, Ordering};

use assay_testkit::{Assay, example, zip_folder};

use crate::verify::{CARTPOLE, assay, hashes, report, verify};

#[track_caller]
fn traces(assay: &Assay, policy: &std::path::Path, more: &[&str]) -> Vec<String> {
    let mut arguments = vec!["--episodes", "4", "--json"];
    arguments.extend(more);
    let run = verify(assay, policy, &arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    hashes(&report(&run))
}

#[test]
fn traces_do_not_depend_on_lanes_or_form() {
    let assay = assay();
    let folder = example(CARTPOLE, "reference");
    let first = traces(&assay, &folder, &["--lanes", "1"]);
    assert_eq!(traces(&assay, &folder, &["--lanes", "1"]), first, "run again");
    assert_eq!(traces(&assay, &folder, &["--lanes", "2"]), first, "on two lanes");
    assert_eq!(traces(&assay, &folder, &["--lanes", "5"]), first, "on more lanes than processors and episodes");
    assert_eq!(traces(&assay, &folder.join("policy.py"), &[]), first, "as a file");
    let zip = assay.write("policy.zip", zip_folder(&folder));
    assert_eq!(traces(&assay, &zip, &[]), first, "as an archive");
    let other = traces(&assay, &folder, &["--seed", "1"]);
    assert!(other.iter().all(|hash| !first.contains(hash)), "another seed draws other worlds");
    assay.assert_clean();
}

#[test]
fn traces_do_not_depend_on_load() {
    let assay = assay();
    let folder = example(CARTPOLE, "reference");
    let quiet = traces(&assay, &folder, &[]);
    let done = AtomicBool::new(false);
    let busy = std::thread::scope(|scope| {
        for _ in 0..2 * std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let busy = std::panic::catch_unwind(|| traces(&assay, &folder, &[]));
        done.store(true, Ordering::Relaxed);
        busy
    });
    assert_eq!(busy.unwrap(), quiet);
}

#[test]
fn a_prefix_of_the_episodes_is_the_same() {
    let assay = assay();
    let folder = example(CARTPOLE, "reference");
    let four = traces(&assay, &folder, &[]);
    let run = verify(&assay, &folder, &["--episodes", "2", "--json"]);
    assert_eq!(hashes(&report(&run)), four[..2]);
}
