//! Encrypted policy servers and the certificates that are trusted. Authorities and certificates are created here, and
//! servers listen on loopback.

use std::path::Path;

use assay_model::Verdict;
use assay_testkit::{Assay, PATIENCE, PythonServer, example};

use crate::authority::Authority;
use crate::verify::{CARTPOLE, assay, report};

fn serve(certificate: &Path) -> PythonServer {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/policy_server.py");
    let policy = example(CARTPOLE, "reference").join("policy.py");
    PythonServer::start(&script, &[policy.to_str().unwrap(), "--tls", certificate.to_str().unwrap()])
}

/// Returns `SAFE`, or the reason why there was no connection.
fn verdict(assay: &Assay, url: &str, believed: &Path) -> String {
    let arguments = ["verify", url, "--scenario", CARTPOLE, "--episodes", "1", "--json"].map(Path::new);
    let run = assay.start_in(&arguments, &[("SSL_CERT_FILE", believed)]).wait(PATIENCE);
    let report = report(&run);
    match report.verdict {
        Some(Verdict::Safe) => "SAFE".to_owned(),
        _ => report.error_message.unwrap(),
    }
}

#[test]
fn a_certificate_must_match_the_host_be_valid_now_and_be_trusted() {
    let assay = assay();
    let trusted = Authority::new(&assay, "trusted");
    let others = Authority::new(&assay, "others");
    let good = serve(&trusted.certificate(&assay, "localhost", 2090));
    let elsewhere = serve(&trusted.certificate(&assay, "elsewhere.test", 2090));
    let expired = serve(&trusted.certificate(&assay, "localhost", 2021));
    let address = serve(&trusted.certificate(&assay, "127.0.0.1", 2090));
    let url = |scheme: &str, host: &str, server: &PythonServer| format!("{scheme}://{host}:{}", server.port());
    assert_eq!(verdict(&assay, &url("wss", "localhost", &good), &trusted.file), "SAFE");
    assert_eq!(verdict(&assay, &url("wss", "127.0.0.1", &address), &trusted.file), "SAFE");
    let refusals = [
        (url("wss", "127.0.0.1", &good), &trusted, "not valid for name"),
        (url("wss", "localhost", &elsewhere), &trusted, "not valid for name"),
        (url("https", "localhost", &elsewhere), &trusted, "not valid for name"),
        (url("wss", "localhost", &expired), &trusted, "expired"),
        (url("https", "localhost", &expired), &trusted, "expired"),
        (url("wss", "localhost", &good), &others, "UnknownIssuer"),
        // No encryption although it was requested, and the reverse.
        (url("ws", "localhost", &good), &trusted, ""),
    ];
    for (url, authority, expected) in refusals {
        let found = verdict(&assay, &url, &authority.file);
        assert!(found != "SAFE" && found.contains(expected), "{url}: {found:?} instead of {expected:?}");
    }
}
