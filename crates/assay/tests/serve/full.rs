//! A full disk, and archives that are larger than usual.

use std::fs;
use std::io::Write;
use std::time::Duration;

use assay_model::{JobStatus, Verdict};
use assay_testkit::{Server, SmallDisk, archive, example, wait_for, zip_folder};
use serde_json::json;
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::serve::{CARTPOLE, JOB_LIMIT, assay};

/// Returns the reference, slowed down so that an episode takes some seconds.
fn unhurried() -> Vec<u8> {
    let reference = fs::read_to_string(example(CARTPOLE, "reference").join("policy.py")).unwrap();
    let slow = "\n\nimport time\nact = Policy.act\n\ndef slow(self, observation):\n    time.sleep(0.005)\n    \
                return act(self, observation)\n\nPolicy.act = slow\n";
    archive(&[("policy.py", (reference + slow).as_bytes())])
}

#[test]
fn a_full_disk_delays_jobs_and_fails_none() {
    SmallDisk::run("serve::full::a_full_disk_delays_jobs_and_fails_none", 96, |disk| {
        let assay = assay();
        let settings = ["--set", "limits.disk.min_free_mib=4", "--set", "limits.disk.records_reserve_mib=16"];
        let more = [&["--lanes", "1", "--log-level", "info"], &settings[..]].concat();
        let data = disk.path().join("data");
        let server = assay.serve(&data, &more);
        let client = server.client(&fs::read_to_string(data.join("bootstrap-key")).unwrap());
        let parts = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")];
        let running = client.verify(&unhurried(), &parts);
        let queued = client.verify(&unhurried(), &parts);
        wait_for("the first job", JOB_LIMIT, || (client.job(&running).status == JobStatus::Running).then_some(()));
        let filler = disk.fill(0);

        let ready = client.get("/readyz");
        assert_eq!(ready.status, 503, "{}", ready.body);
        assert!(ready.body["error"]["message"].as_str().unwrap().contains("the disk is nearly full"), "{}", ready.body);
        let refused = client.try_verify(&unhurried(), &parts).unwrap();
        assert_eq!(refused.status, 503, "{}", refused.body);
        // Records are still written.
        assert_eq!(client.post(&format!("/verify/{queued}/cancel")).status, 200);
        assert_eq!(client.post_json("/keys", &json!({ "name": "another", "scopes": ["read"] })).status, 201);
        // There is no space for the episode's evidence: it is run again repeatedly without counting as a failure.
        let claims = || server.log().lines().filter(|line| line.contains("claimed")).count();
        wait_for("an episode that was handed back", JOB_LIMIT, || (claims() >= 3).then_some(()));
        assert_eq!(client.job(&running).status, JobStatus::Running);

        fs::remove_file(filler).unwrap();
        let ended = client.ended_job(&running, JOB_LIMIT);
        assert_eq!(
            (ended.status, ended.verdict),
            (JobStatus::Completed, Some(Verdict::Safe)),
            "{:?}",
            ended.error_message
        );
        assert_eq!(client.job(&queued).status, JobStatus::Cancelled);
        assert_eq!(client.get("/readyz").status, 200);
        assert_logged_once(&server);
        let after = client.verify(&zip_folder(&example(CARTPOLE, "reference")), &parts);
        assert_eq!(client.ended_job(&after, JOB_LIMIT).verdict, Some(Verdict::Safe));
    });
}

/// Checks that the log reports the full disk once, with the remedy, and its end once, regardless of the number of
/// refused requests and retries.
#[track_caller]
fn assert_logged_once(server: &Server) {
    wait_for("the end of the full disk in the log", JOB_LIMIT, || {
        server.log().contains("has room again").then_some(())
    });
    let log = server.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains(" WARN ") || line.contains(" ERROR ")).collect();
    let [full, over] = lines[..] else { panic!("{} warnings and errors: {lines:#?}", lines.len()) };
    assert!(
        full.contains("the disk is nearly full") && full.contains("delete") && full.contains("[retention]"),
        "{full}"
    );
    assert!(over.contains("the disk has room again"), "{over}");
}

#[test]
fn a_failing_commit_is_logged_once() {
    SmallDisk::run("serve::full::a_failing_commit_is_logged_once", 64, |disk| {
        let assay = assay();
        let settings = ["--set", "limits.disk.min_free_mib=2", "--set", "limits.disk.records_reserve_mib=0"];
        let data = disk.path().join("data");
        let server = assay.serve(&data, &[&["--lanes", "1"], &settings[..]].concat());
        let client = server.client(&fs::read_to_string(data.join("bootstrap-key")).unwrap());
        let create = || client.post_json("/keys", &json!({ "name": "another", "scopes": ["read"] })).status;
        let filler = disk.fill(0);
        // Changes that fit into the allocated log are still written.
        wait_for("a commit that fails", JOB_LIMIT, || (create() == 503).then_some(()));
        for _ in 0..20 {
            assert_eq!(create(), 503);
        }
        fs::remove_file(filler).unwrap();
        assert_eq!(create(), 201);
        wait_for("the end of the full disk in the log", JOB_LIMIT, || {
            server.log().contains("room again").then_some(())
        });
        let log = server.log();
        let count_lines = |text: &str| log.lines().filter(|line| line.contains(text)).count();
        let texts =
            ["disk is nearly full", "database cannot be written", "database can be written again", "room again"];
        assert_eq!(texts.map(count_lines), [1; 4], "{log}");
        assert_eq!((count_lines(" WARN "), count_lines(" ERROR ")), (3, 1), "{log}");
        assert!(log.contains("free space on the disk of the data folder"), "{log}");
    });
}

#[test]
fn the_size_of_an_archive_is_limited_by_the_setting() {
    let assay = assay();
    let more = ["--lanes", "1", "--set", "uploads.max_bytes=136314880", "--set", "limits.disk.min_free_mib=1"];
    let server = assay.serve(&assay.path("data"), &more);
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    writer.start_file("policy.py", options).unwrap();
    writer.write_all(&fs::read(example(CARTPOLE, "reference").join("policy.py")).unwrap()).unwrap();
    writer.start_file("weights.bin", options).unwrap();
    writer.write_all(&vec![7; 110 << 20]).unwrap();
    let zip = writer.finish().unwrap().into_inner();

    let parts = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")];
    let tried = client.try_form("/preflight", Some(&zip), &parts).unwrap();
    assert_eq!(tried.status, 200, "{}", tried.body);
    let ended = client.ended_job(&client.verify(&zip, &parts), JOB_LIMIT + Duration::from_secs(60));
    assert_eq!((ended.status, ended.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", ended.error_message);
}

#[test]
fn a_lane_without_disk_space_is_an_outage() {
    SmallDisk::run("serve::full::a_lane_without_disk_space_is_an_outage", 64, |disk| {
        let assay = assay();
        let policy = assay.write("slow.zip", unhurried());
        let out = assay.path("out");
        let arguments = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--episodes", "1", "--out"];
        let arguments = [&arguments[..], &[out.to_str().unwrap(), "--record", "none"]].concat();
        let temporary = disk.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        fs::set_permissions(&temporary, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let verifying = assay.start_in(&arguments, &[("TMPDIR", &temporary)]);
        wait_for("a lane", JOB_LIMIT, || {
            let engines = fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path());
            let mut folders = engines.filter_map(|engine| fs::read_dir(engine).ok()).flatten();
            folders.any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with("lane-")).then_some(())
        });
        let _filler = disk.fill(0);
        let ended = verifying.wait(JOB_LIMIT);
        assert_eq!(ended.code, 4, "{} {}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("disk is full") || ended.stderr.contains("No space left"), "{}", ended.stderr);
    });
}
