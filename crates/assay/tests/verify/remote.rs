//! `assay verify ws://...`: policy servers from the command line.

use std::path::Path;

use assay_model::{PolicyIdentity, ReviewReason, Verdict};
use assay_testkit::PythonServer;

use crate::verify::{assay, hashes, report, verify};

fn serve(policy: &str, more: &[&str]) -> PythonServer {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let policy = root.join("../../examples/policies/cartpole_keepin").join(policy).join("policy.py");
    let arguments: Vec<_> = [policy.to_str().unwrap()].iter().chain(more).copied().collect();
    PythonServer::start(&root.join("tests/verify/policy_server.py"), &arguments)
}

#[test]
fn a_policy_server_gets_the_verdict_that_its_policy_deserves() {
    let assay = assay();
    let server = serve("reference", &[]);
    let address = format!("ws://127.0.0.1:{}", server.port());
    let run = verify(&assay, Path::new(&address), &["--episodes", "2", "--json"]);
    let report = report(&run);
    assert_eq!((run.code, report.verdict), (0, Some(Verdict::Safe)), "{}", run.stderr);
    assert_eq!((report.policy_identity, &report.policy_sha256), (PolicyIdentity::Declared, &None));
    assert!(report.review_reasons.contains(&ReviewReason::DeclaredIdentity));
    assert_eq!(report.policy_name, format!("{address}/"));
    assert!(report.episode_details.iter().all(|episode| episode.success));
}

#[test]
fn as_many_episodes_as_a_server_allows_talk_to_it_at_the_same_time() {
    let assay = assay();
    let server = serve("reference", &["--together", "3"]);
    let address = format!("ws://127.0.0.1:{}", server.port());
    let run = verify(&assay, Path::new(&address), &["--episodes", "3", "--policy-concurrency", "3", "--json"]);
    // The server answered only once three episodes had asked.
    let _ = server.wait_for("together 3");
    let together = report(&run);
    assert_eq!(together.verdict, Some(Verdict::Safe), "{}", run.stderr);
    // The results do not depend on that.
    let server = serve("reference", &[]);
    let address = format!("ws://127.0.0.1:{}", server.port());
    let run = verify(&assay, Path::new(&address), &["--episodes", "3", "--json"]);
    assert_eq!(hashes(&report(&run)), hashes(&together));
}

#[test]
fn an_unreachable_server_is_the_policys_error_with_all_details() {
    let assay = assay();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = verify(&assay, Path::new(&format!("ws://{free}")), &["--episodes", "1", "--json"]);
    let report = report(&run);
    assert_eq!((run.code, report.verdict), (3, Some(Verdict::Inconclusive)));
    let message = report.error_message.unwrap();
    assert!(message.contains("can't be reached") && message.contains(&free.to_string()), "{message}");
    // Metadata services stay closed even to the operator.
    let run = verify(&assay, Path::new("http://169.254.169.254"), &["--episodes", "1", "--json"]);
    let message = crate::verify::report(&run).error_message.unwrap();
    assert!(message.contains("never allowed"), "{message}");
}

#[test]
fn an_invalid_address_is_refused_without_repeating_it() {
    let assay = assay();
    let run = verify(&assay, Path::new("ws://user:secret@"), &[]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("policy server's address") && !run.stderr.contains("secret"), "{}", run.stderr);
}
