//! `assay doctor --jail`: every attack has the outcome in the table, as the caller and as an ordinary user, and the
//! loss of any layer is detected.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use assay_policy::attacks::Table;
use assay_testkit::{count_rows, home, link_or_copy, share_file};
use serde_json::Value;
use tempfile::TempDir;

/// An unused uid, other than the one of jails that root starts.
const ORDINARY: &str = "64321";
/// A secret that no attack may read.
const CANARY: &str = "canary-7f3a9c51d2";

/// The program and its files, in a place that every user can reach.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path(), 0o755);
        let programs = Path::new(env!("CARGO_BIN_EXE_assay"));
        for name in ["assay", "assay-lane"] {
            share_file(&programs.with_file_name(name), &folder.path().join(name));
        }
        let tmp = folder.path().join("tmp");
        fs::create_dir(&tmp).unwrap();
        open(&tmp, 0o777);
        fs::write(tmp.join("canary"), CANARY).unwrap();
        fs::create_dir(folder.path().join("vendor")).unwrap();
        link_or_copy(&home().join("vendor/runtimes"), &folder.path().join("vendor/runtimes"));
        Self { folder }
    }

    /// Runs `assay doctor --jail --json`, with `path` at the beginning of `PATH`.
    fn doctor(&self, as_user: Option<&str>, path: Option<&Path>, arguments: &[&str]) -> Output {
        let assay = self.folder.path().join("assay");
        let mut command = match as_user {
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", user, "--regid", user, "--clear-groups"]).arg(assay);
                command
            }
            None => Command::new(assay),
        };
        let usual = std::env::var("PATH").unwrap();
        let path = path.map_or(usual.clone(), |first| format!("{}:{usual}", first.display()));
        command.args(["doctor", "--jail", "--json"]).env("PATH", path).env("TMPDIR", self.folder.path().join("tmp"));
        command.env("ASSAY_HOME", self.folder.path()).env("ASSAY_CANARY", CANARY);
        command.env("XDG_CACHE_HOME", self.folder.path().join("tmp/cache"));
        command.args(arguments).output().unwrap()
    }
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn rows(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let all: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    all["rows"].as_array().unwrap().clone()
}

fn broken(output: &Output) -> Vec<String> {
    let rows = rows(output).into_iter().filter(|row| row["holds"] == false);
    rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_attack_has_the_expected_outcome() {
    let place = Place::new();
    let attacks = Table::load().unwrap().attacks.len();
    count_rows("attacks", attacks);
    let mut runs: Vec<(Option<&str>, &[&str])> =
        vec![(None, &[]), (None, &["--no-fork"]), (None, &["--runtime", "onnx"])];
    if rustix::process::geteuid().is_root() {
        runs.push((Some(ORDINARY), &[]));
    }
    thread::scope(|scope| {
        for (user, arguments) in runs {
            let place = &place;
            scope.spawn(move || {
                let output = place.doctor(user, None, arguments);
                let rows = rows(&output);
                let wrong: Vec<_> = rows.iter().filter(|row| row["holds"] == false).collect();
                assert!(wrong.is_empty() && output.status.code() == Some(0), "as {user:?}, {arguments:?}: {wrong:#?}");
                let text = String::from_utf8_lossy(&output.stdout);
                let all: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(all["forked"], !arguments.contains(&"--no-fork"), "{}", all["not_forked_because"]);
                assert_eq!(rows.iter().filter(|row| row["kind"] != "fences").count(), attacks);
                let stdout = String::from_utf8_lossy(&output.stdout);
                assert!(!stdout.contains(CANARY), "as {user:?}: the canary was seen");
            });
        }
    });
}

/// Creates a bubblewrap that drops some of its arguments.
fn without(folder: &Path, leave_out: &str) {
    let real = assay_jail::Jail::find().unwrap().bubblewrap().unwrap().to_owned();
    let script = format!(
        "#!/bin/sh\ncount=$#\nfilters=0\nwhile [ $count -gt 0 ]; do\n  word=$1; shift; count=$((count - 1))\n  \
         case $word in\n    --add-seccomp-fd) filters=$((filters + 1)); word=filter$filters ;;\n  esac\n  \
         case $word in\n    {leave_out}\n    filter*) set -- \"$@\" --add-seccomp-fd ;;\n    \
         *) set -- \"$@\" \"$word\" ;;\n  esac\ndone\nexec {} \"$@\"\n",
        real.display()
    );
    fs::write(folder.join("bwrap"), script).unwrap();
    open(&folder.join("bwrap"), 0o755);
}

#[test]
fn the_loss_of_a_layer_is_detected() {
    const WITH_VALUE: &str = "shift; count=$((count - 1))";
    // The runner's second argument, after the policy's folder.
    const NO_THREAD_LIMIT: &str =
        "/runner/runner.py) set -- \"$@\" /runner/runner.py /policy 0; shift; shift; count=$((count - 2)) ;;";
    // The runner is not stdout of its Landlock ruleset.
    const NOT_SEALED: &str = "ASSAY_SEAL_FD) set -- \"$@\" PWD ;;";
    // The dropped arguments, the kind of check, the checks that must fail.
    let layers = [
        ("--unshare-pid|--as-pid-1) ;;".to_owned(), "fences", "pid namespace"),
        ("--unshare-net) ;;".to_owned(), "fences", "net namespace"),
        ("--unshare-ipc) ;;".to_owned(), "fences", "ipc namespace"),
        (format!("--unshare-uts) ;;\n--hostname) {WITH_VALUE} ;;"), "fences", "uts namespace"),
        ("--new-session) ;;".to_owned(), "fences", "session"),
        ("--ro-bind) set -- \"$@\" --bind ;;".to_owned(), "fences", "writable mounts"),
        (format!("filter1) {WITH_VALUE} ;;"), "fences", "system call filters"),
        (format!("filter2) {WITH_VALUE} ;;"), "fences", "system call filters"),
        (format!("filter1) {WITH_VALUE} ;;"), "ptrace", "traces itself"),
        (format!("filter2) {WITH_VALUE} ;;"), "network", "opens a socket over IPv4"),
        (format!("filter2) {WITH_VALUE} ;;"), "signals", "signals every process"),
        ("--disable-userns) ;;".to_owned(), "fences", "further user namespaces"),
        ("--cap-drop) set -- \"$@\" --cap-add ;;".to_owned(), "fences", "capabilities it could get"),
        (NO_THREAD_LIMIT.to_owned(), "fences", "max processes"),
        (NO_THREAD_LIMIT.to_owned(), "threads", "starts threads without end"),
        (
            "--setenv) set -- \"$@\" --setenv LEAK 1 --setenv ;;".to_owned(),
            "environment",
            "looks for secrets in its environment",
        ),
    ];
    let place = Place::new();
    for (index, (leave_out, only, expected)) in layers.iter().enumerate() {
        let folder = place.folder.path().join(format!("without-{index}"));
        fs::create_dir(&folder).unwrap();
        without(&folder, leave_out);
        let output = place.doctor(None, Some(&folder), &["--no-fork", "--only", only]);
        let broken = broken(&output);
        assert!(broken.iter().any(|name| name == expected), "without {leave_out}: {broken:?}");
        assert_eq!(output.status.code(), Some(1));
    }
    // An interpreter that has not sealed itself receives no policy.
    let folder = place.folder.path().join("not-sealed");
    fs::create_dir(&folder).unwrap();
    without(&folder, NOT_SEALED);
    let output = place.doctor(None, Some(&folder), &["--no-fork", "--only", "processes"]);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && log.contains("did not seal itself with Landlock"), "{log}");
    // The wrapper without dropped arguments changes nothing.
    let folder = place.folder.path().join("whole");
    fs::create_dir(&folder).unwrap();
    without(&folder, "nothing) ;;");
    assert_eq!(broken(&place.doctor(None, Some(&folder), &["--no-fork", "--only", "fences"])), Vec::<String>::new());
}

#[test]
fn an_unknown_kind_is_refused_with_a_list_of_kinds() {
    let place = Place::new();
    let output = place.doctor(None, None, &["--only", "nonsense"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("fences") && stderr.contains("network"), "{stderr}");
}
