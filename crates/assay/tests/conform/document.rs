//! The OpenAPI document, checked by independent validators.

use std::fs;

use assay_testkit::Account;

use crate::conform::{assay, node, script, shared_server, stdout_of};

#[test]
fn a_validator_accepts_the_document() {
    let assay = assay();
    let (_server, Account { client, .. }) = shared_server();
    for place in ["/openapi.json", "/v1/openapi.json"] {
        let document = client.get(place).body;
        assert_eq!(document["openapi"], "3.1.0");
        let path = assay.write("openapi.json", document.to_string());
        assert_eq!(script("validate.py", &[&path]).trim(), "OpenAPIV31SpecValidator");
        // The tool does detect errors.
        let wrong = fs::read_to_string(&path).unwrap().replacen("\"responses\":", "\"answers\":", 1);
        let wrong = assay.write("wrong.json", wrong);
        assert!(
            !crate::conform::tool("python")
                .arg(crate::conform::here().join("validate.py"))
                .arg(&wrong)
                .output()
                .unwrap()
                .status
                .success()
        );
    }
}

/// Spectral's rules for OpenAPI documents, warnings included.
#[test]
fn a_linter_finds_nothing_in_the_document() {
    let assay = assay();
    let (_server, Account { client, .. }) = shared_server();
    assay.write("rules.yaml", "extends: [\"spectral:oas\"]\n");
    let lint = |name: &str| {
        let mut command = node("spectral");
        command.args(["lint", name, "--ruleset", "rules.yaml", "--fail-severity", "hint"]).current_dir(assay.path(""));
        command.output().unwrap()
    };
    let document = client.get("/openapi.json").text;
    assay.write("openapi.json", &document);
    stdout_of(lint("openapi.json"));
    // The tool does detect errors.
    assay.write("wrong.json", document.replacen("\"summary\":", "\"title\":", 1));
    assert!(!lint("wrong.json").status.success());
}
