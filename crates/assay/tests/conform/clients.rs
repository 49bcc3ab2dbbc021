//! A verification with independent clients: one generated from the OpenAPI document, requests, and the curl commands of
//! the README.

use std::path::PathBuf;
use std::process::Command;

use assay_model::Verdict;
use assay_testkit::{Account, Assay, example, zip_folder};

use crate::conform::{
    CARTPOLE, JOB_LIMIT, assay, here, node, node_modules, script, serve, shared_server, stdout_of, tool,
};

/// Options for a strict compilation of the client.
const TYPESCRIPT: [&str; 12] = [
    "--strict",
    "--noEmitOnError",
    "--skipLibCheck",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    "--lib",
    "es2022,dom",
    "--types",
    "node",
    "--noUncheckedIndexedAccess",
];

fn archive(assay: &Assay) -> PathBuf {
    assay.write("policy.zip", zip_folder(&example(CARTPOLE, "reference")))
}

#[test]
fn a_generated_client_completes_a_verification() {
    let assay = assay();
    let (server, Account { client, key, .. }) = shared_server();
    let document = assay.write("openapi.json", client.get("/openapi.json").text);
    // No formatter for the result, so that no other tool is needed. Pictures are treated as bytes.
    let settings = assay
        .write("generator.yaml", "post_hooks: []\ncontent_type_overrides:\n  image/png: application/octet-stream\n");
    let package = assay.path("generated/assay_client");
    std::fs::create_dir(package.parent().unwrap()).unwrap();
    let mut generator = tool("openapi-python-client");
    generator.args(["generate", "--meta", "none", "--config"]).arg(settings);
    let output = generator.arg("--path").arg(&document).arg("--output-path").arg(&package).output().unwrap();
    stdout_of(output);
    let base = format!("http://{}", server.address());
    let (folder, zip) = (package.parent().unwrap(), archive(&assay));
    let arguments = [folder.to_str().unwrap(), &base, &key, zip.to_str().unwrap(), CARTPOLE];
    assert_eq!(script("by_generated.py", &arguments).trim(), "SAFE");
}

#[test]
fn a_client_with_generated_types_completes_a_verification() {
    let assay = assay();
    let (server, Account { client, key, .. }) = shared_server();
    assay.write("openapi.json", client.get("/openapi.json").text);
    assay.write("package.json", "{ \"type\": \"module\" }");
    assay.write("by_typescript.ts", std::fs::read(here().join("by_typescript.ts")).unwrap());
    std::os::unix::fs::symlink(node_modules(), assay.path("node_modules")).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        stdout_of(node(program).args(arguments).current_dir(assay.path("")).output().unwrap())
    };
    run("openapi-typescript", &["openapi.json", "--output", "api.d.ts"]);
    run("tsc", &[&TYPESCRIPT[..], &["by_typescript.ts"]].concat());
    let (base, zip) = (format!("http://{}", server.address()), archive(&assay));
    let mut verify = Command::new("node");
    verify.args(["by_typescript.js", &base, &key, zip.to_str().unwrap(), CARTPOLE]).current_dir(assay.path(""));
    assert_eq!(stdout_of(verify.output().unwrap()).trim(), "SAFE");
}

/// `fixtures/sessions/VERSION.json` contains the answers of a release (`session.py record`); it is never changed.
#[test]
fn clients_of_earlier_releases_get_the_same_answers() {
    let folder = here().with_file_name("fixtures/sessions");
    let fixtures: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!fixtures.is_empty());
    for fixture in fixtures {
        let assay = assay();
        let (server, _, key) = serve(&assay, &[]);
        let (base, zip) = (format!("http://{}", server.address()), archive(&assay));
        let check = |fixture: &str| {
            let mut python = tool("python");
            python.arg(here().join("session.py")).args(["check", fixture, &base, &key, zip.to_str().unwrap()]);
            python.output().unwrap()
        };
        assert_eq!(stdout_of(check(fixture.to_str().unwrap())).trim(), "the same");
        // The tool does detect differences.
        let other = std::fs::read_to_string(&fixture).unwrap().replacen("\"verdict\"", "\"judgement\"", 1);
        let other = check(assay.write("other.json", other).to_str().unwrap());
        let gone = String::from_utf8_lossy(&other.stdout).contains("/judgement is gone");
        assert!(!other.status.success() && gone, "{other:?}");
    }
}

#[test]
fn requests_completes_a_verification() {
    let assay = assay();
    let (server, Account { key, .. }) = shared_server();
    let (base, zip) = (format!("http://{}", server.address()), archive(&assay));
    assert_eq!(script("by_requests.py", &[&base, &key, zip.to_str().unwrap(), CARTPOLE]).trim(), "SAFE");
}

#[test]
fn the_curl_commands_of_the_readme_work() {
    let assay = assay();
    let (server, Account { client, key, .. }) = shared_server();
    archive(&assay);
    let readme = std::fs::read_to_string(assay_testkit::home().join("README.md")).unwrap();
    let lines = readme.replace("\\\n", "");
    let command = |what: &str| {
        let line = lines.lines().find(|line| line.starts_with("curl ") && line.contains(what));
        let line = line.unwrap_or_else(|| panic!("the README has no curl with {what}"));
        let line = line.replace("127.0.0.1:8080", server.address()).replace("tabletop_reach", CARTPOLE);
        // Without videos, which take long.
        let line = line.replace("-F num_episodes=3", "-F num_episodes=1 -F record=none");
        let mut shell = Command::new("sh");
        shell.args(["-ec", &line]).env("KEY", &key).current_dir(assay.path(""));
        serde_json::from_str::<serde_json::Value>(&stdout_of(shell.output().unwrap())).unwrap()
    };
    let id = command("-F policy=@policy.zip")["job_id"].as_str().unwrap().to_owned();
    assert_eq!(client.ended_job(&id, JOB_LIMIT).verdict, Some(Verdict::Safe));
    assert!(command("/verify/JOB_ID")["error"]["code"] == "NOT_FOUND");
    assert!(command("/scenarios")["scenarios"].as_array().unwrap().len() > 10);
}
