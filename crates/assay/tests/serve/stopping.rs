//! SIGTERM: running episodes end or are handed back, within 10 s, and the next start finishes what was accepted.

use std::time::Duration;

use assay_model::{JobReport, JobStatus, Verdict};
use assay_testkit::{Assay, Jailed, PATIENCE, ServedJob, archive, example, wait_for, zip_folder};
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::Value;

use crate::serve::{CARTPOLE, JOB_LIMIT, SLOW, STOP_LIMIT, assay, serve};

const START_LIMIT: Duration = PATIENCE;

#[track_caller]
fn whole(job: &JobReport, episodes: u32) {
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    let indexes: Vec<_> = job.episode_details.iter().map(|episode| episode.episode).collect();
    assert_eq!(indexes, (0..episodes).collect::<Vec<_>>());
    assert_eq!(job.progress.episodes_done, episodes);
}

/// Returns an episode without the signatures of its addresses, which differ in each answer, and their ports, which
/// differ after a restart.
fn unsigned(job: &ServedJob, episode: usize) -> Value {
    fn cut(url: &mut Value) {
        let place = url.as_str().and_then(|url| url.split('?').next()?.split_once("/artifacts/"));
        if let Some((_, path)) = place {
            *url = Value::from(path);
        }
    }
    let mut episode = job.body["episode_details"][episode].clone();
    ["log_url", "video_url"].iter().for_each(|field| cut(&mut episode[*field]));
    episode["evidence"].as_array_mut().unwrap().iter_mut().for_each(|file| cut(&mut file["url"]));
    episode
}

/// Returns the state of each shard that a server that has ended left, with the number of results.
fn left(assay: &Assay) -> Vec<(String, u32)> {
    let records = Connection::open(assay.path("data/assay.db")).unwrap();
    let sql = "SELECT state, (SELECT count(*) FROM episodes WHERE episodes.job_id = shards.job_id) FROM shards";
    let mut rows = records.prepare(sql).unwrap();
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_job_survives_a_restart() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let parts = [("scenario", CARTPOLE), ("num_episodes", "12"), ("record", "none")];
    let id = client.verify(&zip, &parts);
    let done = wait_for("a first episode", JOB_LIMIT, || {
        let job = client.job(&id);
        (job.progress.episodes_done > 0).then_some(job)
    });
    let stopped = server.stop(Signal::TERM, STOP_LIMIT);
    assert_eq!(stopped.code, 0, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("stopping"), "{}", stopped.stderr);
    assay.assert_clean();

    let (_server, client) = serve(&assay);
    assert!(client.job(&id).progress.episodes_done >= done.progress.episodes_done);
    let job = client.ended_job(&id, JOB_LIMIT);
    whole(&job, 12);
    for (index, before) in done.episode_details.iter().enumerate() {
        assert_eq!(
            unsigned(&done, index),
            unsigned(&job, before.episode as usize),
            "a recorded episode is not run again"
        );
    }
}

#[test]
fn an_episode_that_takes_long_is_handed_back() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let id = client.verify(&archive(&[("policy.py", SLOW)]), &[("scenario", CARTPOLE), ("num_episodes", "1")]);
    wait_for("a lane", START_LIMIT, || assay.jailed().iter().any(Jailed::is_lane).then_some(()));
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
    // The shard is neither lost nor failed, and does not wait for its lease to expire.
    assert_eq!(left(&assay), [("QUEUED".to_owned(), 0)]);
    let (_server, client) = serve(&assay);
    let job = wait_for("the job on a lane again", START_LIMIT, || {
        let job = client.job(&id);
        (job.status == JobStatus::Running && assay.jailed().iter().any(Jailed::is_lane)).then_some(job)
    });
    assert!(job.episode_details.is_empty());
    assert_eq!(client.post(&format!("/verify/{id}/cancel")).status, 200);
}

#[test]
fn an_endless_import_does_not_delay_a_stop() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let zip = archive(&[("policy.py", b"while True:\n    pass\n")]);
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "1")]);
    wait_for("a job that runs", START_LIMIT, || (client.job(&id).status == JobStatus::Running).then_some(()));
    // Ctrl-C on its terminal, which reaches every process of its group.
    let running = server.into_running();
    running.interrupt();
    assert_eq!(running.wait(STOP_LIMIT).code, 0);
    assay.assert_clean();
    assert_eq!(left(&assay), [("QUEUED".to_owned(), 0)], "its end was not waited for");
    let (_server, client) = serve(&assay);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Inconclusive)));
    assert!(job.report.error_message.unwrap().contains("import"));
}

#[test]
fn a_hanging_client_does_not_delay_a_stop() {
    use std::io::Write;
    let assay = assay();
    let (server, client) = serve(&assay);
    client.verify(&archive(&[("policy.py", SLOW)]), &[("scenario", CARTPOLE), ("num_episodes", "1")]);
    wait_for("a lane", START_LIMIT, || assay.jailed().iter().any(Jailed::is_lane).then_some(()));
    let mut half = std::net::TcpStream::connect(server.address()).unwrap();
    let key = std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    write!(
        half,
        "POST /verify HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: multipart/form-data; boundary=b\r\ncontent-length: 1000\r\n\r\n--b\r\n",
        key.trim()
    )
    .unwrap();
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}
