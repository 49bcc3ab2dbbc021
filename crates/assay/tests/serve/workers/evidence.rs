//! Files of evidence that do not follow from their trace and its world, although the trace is true.

use super::fixture::{HonestRun, lanes_elsewhere, replace_file, submit, worker_row};
use crate::serve::assay;

#[test]
fn a_file_that_does_not_follow_from_trace_and_world_is_refused() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reference");
    submit(&client, "reference", "1");
    for name in ["actions.npy", "inputs.npz", "plots.json", "model.mjb", "state.bin"] {
        let worker = name.replace('.', "-");
        let liar = run.impostor(&assay, &server, &worker);
        let (lease, _) = liar.claim(10).unwrap_or_else(|| panic!("{name}: no shard"));
        let mut altered = run.file(0, name).to_vec();
        let middle = altered.len() / 2;
        altered[middle] ^= 1;
        let mut result = run.results[0].clone();
        replace_file(&mut result, name, &altered);
        run.store(&liar, &lease, &result);
        assert_eq!(liar.upload(&lease, &altered).status, 204);
        let answer = liar.report(&lease, &result);
        let message = answer.body["error"]["message"].as_str().unwrap_or_default();
        let words = format!("its {name} is not that of its trace and its world");
        assert!(answer.status == 403 && message.contains(&words), "{name}: {}", answer.body);
        assert_eq!(worker_row(&client, &worker)["state"], "QUARANTINED");
    }
}
