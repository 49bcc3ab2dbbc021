//! Backups: created from a running server, restored, and rejected if damaged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use assay_model::{JobStatus, Verdict};
use assay_testkit::{Assay, Client, ServedJob, archive, example, home, wait_for, zip_folder};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, serve};

/// Fails at its first action, so that jobs end quickly.
const BRIEF: &[u8] = b"def policy(observation):\n    raise RuntimeError('enough')\n";
/// Jobs that end and are erased while backups are made.
const BUSY_JOBS: usize = 3;

/// Returns the commands in docs/operations.md at this mark.
fn documented(mark: &str) -> String {
    let text = fs::read_to_string(home().join("docs/operations.md")).unwrap();
    let (_, rest) = text.split_once(&format!("<!-- {mark} -->\n```sh\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// Runs shell commands in which `assay` is the program under test.
fn shell(assay: &Assay, commands: &str, folders: &[(&str, &Path)]) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap().display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-euc", commands]).envs(folders.iter().copied()).env("PATH", path);
    let done = shell.env("ASSAY_HOME", home()).env("TMPDIR", assay.path("tmp")).output().unwrap();
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{output}{}", String::from_utf8_lossy(&done.stderr));
    output
}

/// Runs a job of one episode, which must complete.
fn done(client: &Client) -> ServedJob {
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")]);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!(job.verdict, Some(Verdict::Safe), "{:?}", job.error_message);
    job
}

/// Creates jobs that end and are erased, until `stop`. Returns their number.
fn busy(client: &Client, number: usize, stop: &AtomicBool) -> usize {
    let comment = format!("# {number}\n");
    let zip = archive(&[("policy.py", &[comment.as_bytes(), BRIEF].concat())]);
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")]);
        client.ended_job(&id, JOB_LIMIT);
        assert_eq!(client.delete(&format!("/verify/{id}")).status, 204);
        count += 1;
    }
    count
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_backup_made_as_documented_can_be_restored() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let before = done(&client);
    let id = before.job_id.to_string();
    // Another backup waits meanwhile.
    let open =
        client.verify(&archive(&[("policy.py", crate::serve::SLOW)]), &[("scenario", CARTPOLE), ("num_episodes", "1")]);
    let (data, backup, restored) = (assay.path("data"), assay.path("backup"), assay.path("restored"));
    let folders = [("DATA", data.as_path()), ("BACKUP", &backup), ("RESTORED", &restored)];
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let work: Vec<_> = (0..BUSY_JOBS)
            .map(|number| {
                scope.spawn({
                    let (client, stop) = (&client, &stop);
                    move || busy(client, number, stop)
                })
            })
            .collect();
        shell(&assay, &documented("backup"), &folders);
        let later = assay.path("later");
        shell(&assay, &documented("backup"), &[("DATA", data.as_path()), ("BACKUP", &later)]);
        stop.store(true, Ordering::Relaxed);
        assert!(work.into_iter().map(|work| work.join().unwrap()).sum::<usize>() > 0);
        let found = shell(&assay, "assay backup --check \"$BACKUP\"", &[("BACKUP", &later)]);
        assert!(found.contains("no problems found"), "{found}");
    });
    let found = shell(&assay, &documented("check"), &folders);
    assert!(found.contains("bit-identical") && found.contains("no problems found"), "{found}");
    assert_ne!(server.stop(Signal::KILL, STOP_LIMIT).code, 0);
    fs::rename(&data, assay.path("lost")).unwrap();
    shell(&assay, &documented("restore"), &folders);
    for folder in [&backup, &restored] {
        assert_eq!(mode(folder), 0o700);
        assert_eq!(mode(&folder.join("assay.db")), 0o600);
        assert_eq!((mode(&folder.join("signing")), mode(&folder.join("signing/signing-key.pem"))), (0o700, 0o600));
        assert_eq!(mode(&folder.join("artifact-secret")), 0o600);
    }
    assert!(!restored.join("backup.json").exists() && !backup.join("bootstrap-key").exists());

    let server = assay.serve(&restored, &["--lanes", "1"]);
    let client = server.client(&fs::read_to_string(assay.path("lost/bootstrap-key")).unwrap());
    let after = client.job(&id);
    assert_eq!((after.status, after.verdict, after.score), (JobStatus::Completed, before.verdict, before.score));
    for file in &after.episode_details[0].evidence {
        assert_eq!(client.download(after.evidence_url(file).unwrap()).len() as u64, file.size_bytes, "{}", file.name);
    }
    assert_eq!(client.get(&format!("/verify/{id}/attestation")).status, 200);
    let replay = client.post(&format!("/verify/{id}/replay"));
    assert_eq!((replay.status, &replay.body["same"]), (200, &json!(true)), "{}", replay.text);
    wait_for("the open job that runs on", JOB_LIMIT, || (client.job(&open).status == JobStatus::Running).then_some(()));
    assert_eq!(client.post(&format!("/verify/{open}/cancel")).status, 200);
}

/// A program's answer in JSON, and its exit code.
fn answer(assay: &Assay, arguments: &[&Path]) -> (i32, Value) {
    let run = assay.run(&[arguments, &[Path::new("--json")]].concat());
    (run.code, serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr)))
}

/// The backup of a server that has run one job.
fn backup(assay: &Assay) -> PathBuf {
    let (server, client) = serve(assay);
    done(&client);
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    let (data, to) = (assay.path("data"), assay.path("backup"));
    let (code, made) = answer(assay, &["backup".as_ref(), &to, "--data".as_ref(), &data]);
    assert_eq!((code, &made["jobs"], &made["episodes"], &made["missing"]), (0, &json!(1), &json!(1), &json!([])));
    to
}

/// Some file of the job's evidence.
fn evidence(folder: &Path) -> PathBuf {
    let job = fs::read_dir(folder.join("blobs/jobs")).unwrap().next().unwrap().unwrap().path();
    fs::read_dir(job).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_damaged_backup_is_detected_and_not_restored() {
    let assay = assay();
    let backup = backup(&assay);
    let (check, restored) = ([Path::new("backup"), Path::new("--check"), &backup], assay.path("restored"));
    let restore = [Path::new("restore"), &backup, Path::new("--data"), &restored];
    let (code, found) = answer(&assay, &check);
    assert_eq!((code, &found["sound"], &found["replay"]["same"]), (0, &json!(true), &json!(true)), "{found:#}");
    assert!(found["files"].as_u64().unwrap() > 5 && found["jobs"] == 1);

    let victim = evidence(&backup);
    let name = victim.file_name().unwrap().to_str().unwrap().to_owned();
    let good = fs::read(&victim).unwrap();
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    for damage in [Some(bad), Some(good[1..].to_vec()), None] {
        match damage {
            Some(content) => fs::write(&victim, content).unwrap(),
            None => fs::remove_file(&victim).unwrap(),
        }
        for arguments in [check.as_slice(), &restore] {
            let (code, found) = answer(&assay, arguments);
            assert_eq!(code, 1, "{found:#}");
            assert!(found["problems"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains(&name)));
        }
        assert!(!restored.exists() && !assay.path("restored.partial").exists());
    }
    fs::write(&victim, good).unwrap();
    fs::write(backup.join("policies/strange.zip"), "PK").unwrap();
    assert_eq!(answer(&assay, &check).0, 1);
    fs::remove_file(backup.join("policies/strange.zip")).unwrap();
    fs::remove_file(backup.join("assay.db")).unwrap();
    assert_eq!((answer(&assay, &check).0, answer(&assay, &restore).0), (1, 1));
    assay.assert_clean();
}

#[test]
fn an_incomplete_backup_is_refused() {
    let assay = assay();
    let backup = backup(&assay);
    let refused = |arguments: &[&Path], why: &str| {
        let run = assay.run(arguments);
        assert!(run.code == 2 && run.stderr.contains(why), "{why}: {} {}{}", run.code, run.stdout, run.stderr);
    };
    let (data, restored) = (assay.path("data"), assay.path("restored"));
    let [make, restore, flag] = ["backup", "restore", "--data"].map(Path::new);
    refused(&[make, &backup, flag, &data], "is not empty");
    refused(&[make, &assay.path("x.partial"), flag, &data], "incomplete");
    refused(&[make, &assay.path("other"), flag, &assay.path("nowhere")], "no records");
    refused(&[restore, &backup, flag, &data], "is not empty");
    refused(&[restore, &data, flag, &restored], "is not a backup");
    // The state left by a killed backup, which another one does not change.
    fs::create_dir(assay.path("next.partial")).unwrap();
    refused(&[make, &assay.path("next"), flag, &data], "incomplete");
    let partial = assay.path("backup.partial");
    fs::rename(&backup, &partial).unwrap();
    refused(&[restore, &partial, flag, &restored], "incomplete");
    fs::rename(&partial, &backup).unwrap();
    // The format of a newer version.
    let list = backup.join("backup.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&list).unwrap()).unwrap();
    manifest["schema"] = json!(manifest["schema"].as_u64().unwrap() + 1);
    fs::write(&list, manifest.to_string()).unwrap();
    refused(&[restore, &backup, flag, &restored], "use a newer assay");
    assert_eq!(answer(&assay, &[make, Path::new("--check"), &backup]).0, 1);
    manifest["files"][0]["path"] = json!("../assay.db");
    fs::write(&list, manifest.to_string()).unwrap();
    refused(&[restore, &backup, flag, &restored], "not a file of a data folder");
    manifest["files"].as_array_mut().unwrap().remove(0);
    manifest["missing"] = json!(["../victim.txt"]);
    fs::write(&list, manifest.to_string()).unwrap();
    refused(&[restore, &backup, flag, &restored], "not a file of a data folder");
    manifest["missing"] = json!([]);
    manifest["files"].as_array_mut().unwrap().retain(|file| file["path"] != "assay.db");
    fs::write(&list, manifest.to_string()).unwrap();
    refused(&[restore, &backup, flag, &restored], "which every backup contains");
    // A pipe must not block the program.
    fs::remove_file(&list).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &list, rustix::fs::Mode::RUSR).unwrap();
    refused(&[restore, &backup, flag, &restored], "is not a backup");
    assert!(!restored.exists());
}

/// Forged records may name any file, and files are removed with their job.
#[test]
fn a_forged_backup_names_no_file_outside() {
    let assay = assay();
    let (backup, restored) = (backup(&assay), assay.path("restored"));
    let file = backup.join("assay.db");
    let records = rusqlite::Connection::open(&file).unwrap();
    records.execute("UPDATE jobs SET policy_path = '../victim.txt'", []).unwrap();
    drop(records);
    let list = backup.join("backup.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&list).unwrap()).unwrap();
    let content = fs::read(&file).unwrap();
    for entry in manifest["files"].as_array_mut().unwrap().iter_mut().filter(|entry| entry["path"] == "assay.db") {
        entry["sha256"] = json!(assay_model::Sha256Digest::of(&content));
        entry["size_bytes"] = json!(content.len());
    }
    fs::write(&list, manifest.to_string()).unwrap();
    for arguments in [vec!["backup", "--check"], vec!["restore", "--data", restored.to_str().unwrap()]] {
        let arguments = [arguments, vec![backup.to_str().unwrap()]].concat();
        let run = assay.run(&arguments);
        assert!(run.code != 0 && run.stderr.contains("victim.txt"), "{arguments:?}: {} {}", run.code, run.stderr);
    }
    assert!(!restored.exists());
}

#[test]
fn missing_files_of_the_data_folder_are_reported() {
    let assay = assay();
    let first = backup(&assay);
    let lost = evidence(&assay.path("data"));
    fs::remove_file(&lost).unwrap();
    let (data, second) = (assay.path("data"), assay.path("second"));
    // An empty folder is accepted.
    fs::create_dir(&second).unwrap();
    let (code, made) = answer(&assay, &["backup".as_ref(), &second, "--data".as_ref(), &data]);
    let name = lost.file_stem().unwrap().to_str().unwrap();
    assert!(code == 1 && made["missing"][0].as_str().unwrap().contains(name), "{made:#}");
    assert_eq!(
        made["files"].as_u64().unwrap() + 1,
        answer(&assay, &["backup".as_ref(), "--check".as_ref(), &first]).1["files"]
    );
    assert_eq!(answer(&assay, &["backup".as_ref(), "--check".as_ref(), &second]).0, 1);
    // The existing files can be restored.
    assert_eq!(answer(&assay, &["restore".as_ref(), &second, "--data".as_ref(), &assay.path("restored")]).0, 0);
}
