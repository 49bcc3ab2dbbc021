//! An untrusted policy learns nothing about the machine, the service's secrets or other accounts' policies.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use assay_model::{EpisodeStatus, JobReport, JobStatus};
use assay_testkit::{Assay, Client, PATIENCE, archive, example, wait_for, zip_folder};

use crate::serve::{CARTPOLE, JOB_LIMIT, assay, serve};

/// Pattern of the secrets to search for.
const IN_ENVIRONMENT: &str = "canary-0e1f2d3c4b";
const IN_DATA: &str = "canary-5a6978d2e1";
const IN_UPLOAD: &str = "canary-9f8e7d6c5b";
/// A decoy in the searching policy's folder, which shows that the search works.
const DECOY: &str = "canary-decoy";
const SEARCHES: &str = include_str!("../policies/searches.py");
const MEDDLES: &str = include_str!("../policies/meddles.py");
/// Maximum time for jobs to begin and end while another runs.
const BEGIN_LIMIT: Duration = PATIENCE;

/// Returns a policy that knows where to search, which is more than a stranger knows.
fn with_hints(source: &str, pid: u32, places: &[&str]) -> Vec<u8> {
    let text = format!("HOST_PID = {pid}\nHOST_PATHS = {places:?}\n{source}");
    archive(&[("policy.py", text.as_bytes()), ("decoy.txt", DECOY.as_bytes())])
}

fn client_of(assay: &Assay, server: &assay_testkit::Server, account: &str) -> Client {
    let data = assay.path("data");
    let key = assay.run(&["keys", "create", "--account", account, "--data", data.to_str().unwrap()]);
    assert_eq!(key.code, 0, "{}", key.stderr);
    server.client(key.stdout.trim())
}

/// Everything that an account can fetch about its job, as text.
fn all_answers(client: &Client, job: &str) -> String {
    let report = client.get(&format!("/verify/{job}")).body;
    let mut text = report.to_string();
    text += &client.get(&format!("/verify/{job}/episodes")).body.to_string();
    text += &client.get("/verify").body.to_string();
    text += &client.text(report["report_url"].as_str().unwrap());
    let logs = report["episode_details"].as_array().unwrap().iter().filter_map(|episode| episode["log_url"].as_str());
    logs.for_each(|address| text += &String::from_utf8_lossy(&client.download(address)));
    text
}

#[test]
fn no_secret_is_visible_or_reported() {
    let assay = assay().with_variable("SECRET_OF_THE_HOST", IN_ENVIRONMENT);
    let (server, _) = serve(&assay);
    let data = assay.path("data");
    fs::write(data.join("secret"), IN_DATA).unwrap();
    let (victim, stranger) = (client_of(&assay, &server, "victim"), client_of(&assay, &server, "stranger"));
    let upload = format!("SECRET = '{IN_UPLOAD}'\n\ndef policy(observation):\n    return [0.0]\n");
    let parts = [("scenario", CARTPOLE), ("num_episodes", "1")];
    let private = victim.verify(&archive(&[("policy.py", upload.as_bytes())]), &parts);
    let data_place = data.to_str().unwrap();
    let tmp = assay.path("tmp");
    let zip =
        with_hints(SEARCHES, server.pid(), &[data_place, tmp.to_str().unwrap(), assay.path("").to_str().unwrap()]);
    let job = stranger.verify(&zip, &parts);
    let report = stranger.ended_job(&job, JOB_LIMIT);

    let error = report.episode_details[0].error.clone().unwrap();
    assert_eq!((report.status, error.code.as_str()), (JobStatus::Completed, "exception"), "{error:?}");
    // It did search its whole file system, and would have reported secrets.
    let read: u32 = error.message.split(' ').nth(2).unwrap().parse().unwrap();
    assert!(read > 500 && error.message.contains(&format!("secrets: ['{DECOY}']; of the host: []")), "{error:?}");
    let answers = all_answers(&stranger, &job);
    for secret in [IN_ENVIRONMENT, IN_DATA, IN_UPLOAD] {
        assert!(!answers.contains(secret), "{secret} was reported");
        assert!(!server.log().contains(secret), "{secret} is in the log");
    }
    assert_eq!(stranger.get(&format!("/verify/{private}")).status, 404);
    let _ = server.stop(rustix::process::Signal::TERM, crate::serve::STOP_LIMIT);
    assay.assert_clean();
}

/// Returns the parts of a report that must not depend on the other job.
fn facts(report: &JobReport) -> String {
    let episodes = report.episode_details.iter().map(|episode| {
        (&episode.trace_hash, episode.status, episode.steps, episode.deadline_misses, &episode.violations)
    });
    format!("{:?} {:?} {:?}", report.verdict, report.score, episodes.collect::<Vec<_>>())
}

/// Processors that a process may use.
fn processors(pid: i32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    line.trim().to_owned()
}

#[test]
fn a_hostile_policy_and_its_neighbour_do_not_meet() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let parts = [("scenario", CARTPOLE), ("num_episodes", "2"), ("seed", "3"), ("record", "none")];
    let reference = zip_folder(&example(CARTPOLE, "reference"));
    let alone = client.ended_job(&client.verify(&reference, &parts), JOB_LIMIT);

    let hostile = client.verify(
        &with_hints(MEDDLES, server.pid(), &[]),
        &[("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")],
    );
    wait_for("the hostile policy's first steps", BEGIN_LIMIT, || {
        (client.job(&hostile).status == JobStatus::Running).then_some(())
    });
    let beside = client.verify(&reference, &parts);
    // Each job runs on one processor, policy and simulator together, and not on that of the other.
    wait_for("two lanes with a processor each", BEGIN_LIMIT, || {
        let lanes: Vec<_> = assay.jailed().into_iter().filter(|process| process.is_lane()).collect();
        let cores: BTreeSet<_> = lanes.iter().map(|lane| processors(lane.pid)).collect();
        let all = std::thread::available_parallelism().unwrap().get().min(2);
        (lanes.len() == 2 && cores.iter().all(|cores| cores.parse::<usize>().is_ok()) && cores.len() == all)
            .then_some(())
    });
    let beside = client.ended_job(&beside, JOB_LIMIT);
    let disturber = client.ended_job(&hostile, JOB_LIMIT);
    assert!(disturber.completed_at > beside.started_at && disturber.started_at < beside.completed_at, "not at once");
    assert_eq!(facts(&alone), facts(&beside));
    let episode = &disturber.episode_details[0];
    let error = episode.error.as_ref().unwrap();
    assert_eq!((episode.status, error.message.as_str()), (EpisodeStatus::PolicyError, "RuntimeError: managed: []"));
    let _ = server.stop(rustix::process::Signal::TERM, crate::serve::STOP_LIMIT);
    assay.assert_clean();
}
