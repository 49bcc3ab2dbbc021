//! A missing or wrong limit is detected from outside and, where that is harmless, from inside.

use assay_policy::attacks::{fences, run};

use crate::jailed::common::Bench;

#[test]
fn the_loss_of_a_limit_is_detected() {
    type Change = fn(&mut assay_jail::ProcessLimits);
    let changes: [(&str, Change); 5] = [
        ("max address space", |limits| limits.address_space_bytes *= 2),
        ("max cpu time", |limits| limits.cpu_s *= 2),
        ("max open files", |limits| limits.nofile *= 2),
        ("max file size", |limits| limits.fsize_bytes *= 2),
        ("max stack size", |limits| limits.stack_bytes *= 2),
    ];
    let bench = Bench::new(0, |_| {});
    for (name, change) in changes {
        let mut config = bench.config();
        change(&mut config.limits);
        let broken: Vec<_> = fences(config).unwrap().into_iter().filter(|fence| !fence.holds()).collect();
        assert!(broken.len() == 1 && broken[0].name == name, "{name}: {broken:?}");
    }
    let mut config = bench.config();
    config.limits.nofile = 4096;
    let mut outcomes = Vec::new();
    run(config, &|attack| attack.name == "opens descriptors without end", &mut |attack, report| {
        outcomes.push((report.holds(attack), report.outcome.clone()));
    })
    .unwrap();
    assert_eq!(outcomes, [(false, "got: 1000".to_owned())]);
    bench.close();
}
