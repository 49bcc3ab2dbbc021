//! `assay connect` to a service behind a proxy that encrypts.

use std::path::Path;

use assay_model::Verdict;
use assay_testkit::{Account, PythonServer, example};

use super::command::{connect, report};
use crate::authority::Authority;
use crate::serve::{CARTPOLE, JOB_LIMIT, assay, shared_server};

#[test]
fn requests_and_frames_are_encrypted_and_the_certificate_is_checked() {
    let assay = assay();
    let (server, Account { client, key, .. }) = shared_server("default");
    let key = assay.write("key", key);
    let trusted = Authority::new(&assay, "trusted");
    let others = Authority::new(&assay, "others");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/connecting/tls_proxy.py");
    let certificate = trusted.certificate(&assay, "localhost", 2090);
    let port = server.address().rsplit(':').next().unwrap().to_owned();
    let proxy = PythonServer::start(&script, &[certificate.to_str().unwrap(), &port]);
    let url = format!("https://localhost:{}", proxy.port());
    let policy = example(CARTPOLE, "reference");
    let run = |believed: &Path| {
        let mut arguments = connect((server.address(), &key), policy.to_str().unwrap(), &["--episodes", "1", "--json"]);
        let at = arguments.iter().position(|argument| argument == "--server").unwrap();
        arguments[at + 1].clone_from(&url);
        assay.start_in(&arguments, &[("SSL_CERT_FILE", believed)]).wait(JOB_LIMIT)
    };
    let refused = run(&others.file);
    assert!(refused.code == 4 && refused.stderr.contains("UnknownIssuer"), "{} {}", refused.code, refused.stderr);
    assert_eq!(client.get("/verify").body["total"], 0, "nothing was sent to a service that is not trusted");
    let accepted = run(&trusted.file);
    assert_eq!((accepted.code, report(&accepted).verdict), (0, Some(Verdict::Safe)), "{}", accepted.stderr);
}
