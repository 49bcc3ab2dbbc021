//! kill -9 at random moments: nothing acknowledged is lost, nothing is counted twice. Each backend has a test.
//!
//! The test is also the victim: it starts this program again for itself alone. If `ASSAY_STORE_VICTIM` is set, it
//! accepts jobs, works on them, and logs every answer to a file. Otherwise it starts victims, kills them, opens the
//! records and compares them with the logs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use assay_model::JobId;
use assay_store::{JobState, PostgresOptions, PostgresRecords, RecordOutcome, Records, ShardRequest, SqliteRecords};
use assay_store_testing::{at, episode, job, outcome, signed};
use assay_testkit::{PATIENCE, Postgres, wait_for};
use jiff::{SignedDuration, Timestamp};

/// Number of kills, unless [`KILLS`] sets another.
const ROUNDS: u64 = 3;
/// Environment variable with the number of kills.
const KILLS: &str = "ASSAY_STORE_KILLS";
const EPISODES: u32 = 5;
const LEASE: SignedDuration = SignedDuration::from_secs(60);
const VICTIM: &str = "ASSAY_STORE_VICTIM";
/// Environment variable with the address of the victim's records.
const ADDRESS: &str = "ASSAY_STORE_VICTIM_ADDRESS";
/// Seconds between the times of two rounds: far more than a lease, so that the work of dead victims can be claimed.
const ROUND_S: i64 = 1000;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn records_in_a_folder_survive_kills() {
    be_victim().await;
    judge("kill::records_in_a_folder_survive_kills", "a folder", "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn records_on_postgresql_survive_kills() {
    be_victim().await;
    let server = Postgres::start(&[("fsync", "on")]);
    judge("kill::records_on_postgresql_survive_kills", "PostgreSQL", &server.database()).await;
}

/// Opens the records at an address; an empty one means those of the folder.
async fn open(address: &str, folder: &Path) -> Arc<dyn Records> {
    if address.is_empty() {
        return Arc::new(SqliteRecords::open(folder, "a test").unwrap());
    }
    Arc::new(PostgresRecords::open(&PostgresOptions::new(address), folder).await.unwrap())
}

fn notes(folder: &Path) -> PathBuf {
    folder.join("answers.txt")
}

/// Returns the time `seconds` after the begin of a round.
fn in_round(round: u64, seconds: i64) -> Timestamp {
    at(i64::try_from(round).unwrap() * ROUND_S + seconds)
}

/// If this process is a victim, accepts jobs and works on them until killed.
async fn be_victim() {
    let Ok(round) = std::env::var(VICTIM) else { return };
    let round: u64 = round.parse().unwrap();
    let folder = std::env::current_dir().unwrap();
    let records = open(&std::env::var(ADDRESS).unwrap(), &folder).await;
    let file = Arc::new(OpenOptions::new().append(true).create(true).open(notes(&folder)).unwrap());
    records.reconcile(in_round(round, 0)).await.unwrap();
    let next = Arc::new(AtomicU64::new(round * 1_000_000));
    for _ in 0..4 {
        let (records, file, next) = (records.clone(), file.clone(), next.clone());
        tokio::spawn(async move {
            loop {
                let new = job(next.fetch_add(1, Ordering::Relaxed), "lab", EPISODES, 2);
                let id = new.header.job_id;
                records.create_job(new).await.unwrap();
                note(&file, &format!("job {id}"));
            }
        });
    }
    for _ in 0..4 {
        let (records, file) = (records.clone(), file.clone());
        tokio::spawn(async move { while work(&*records, &file, round).await.is_some() {} });
    }
    std::future::pending().await
}

/// Completes one shard or conclusion; `None` if there is nothing to do, which is rare for a victim.
async fn work(records: &dyn Records, file: &File, round: u64) -> Option<()> {
    let (claimed, done) = (in_round(round, 1), in_round(round, 2));
    if let Some(claim) = records.claim_conclusion("w", claimed, LEASE).await.unwrap() {
        let found = outcome(&claim.header, &claim.episodes);
        assert!(records.complete_job(claim.fence, found, signed(), done).await.unwrap());
        note(file, &format!("completed {}", claim.fence.job_id));
        return Some(());
    }
    let Some(claim) = records.claim_shard(&ShardRequest::new("w"), claimed, LEASE).await.unwrap() else {
        tokio::time::sleep(Duration::from_millis(1)).await;
        return records.claimable(1).await.unwrap().first().map(drop);
    };
    for index in &claim.episodes {
        let mut result = episode(*index);
        result.steps = claim.fence.attempt;
        let recorded = records.record_episode(claim.fence, result, done).await.unwrap();
        assert!(matches!(recorded, RecordOutcome::New { .. }), "{recorded:?}");
        note(file, &format!("episode {} {index} {}", claim.fence.job_id, claim.fence.attempt));
    }
    Some(())
}

/// Writes a line with a single call, so that a kill leaves only complete lines.
fn note(mut file: &File, line: &str) {
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Kills victims, and compares the records with the answers to them. `test` is the path of the calling test.
async fn judge(test: &str, backend: &str, address: &str) {
    let folder = tempfile::tempdir().unwrap();
    let chance = RandomState::new();
    let rounds = std::env::var(KILLS).map_or(ROUNDS, |kills| kills.parse().unwrap());
    for round in 0..rounds {
        let mut child = start(test, folder.path(), address, round);
        tokio::time::sleep(Duration::from_millis(20 + chance.hash_one(round) % 250)).await;
        assert!(child.try_wait().unwrap().is_none(), "the victim of round {round} ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        let records = open(address, folder.path()).await;
        compare(&*records, folder.path()).await;
    }
    finish(folder.path(), address, rounds).await;
    let answers = read_answers(folder.path());
    eprintln!(
        "{rounds} kills with records in {backend}: {} jobs, {} episodes acknowledged, none lost, none twice",
        answers.jobs.len(),
        answers.episodes.len()
    );
}

/// Starts a victim and waits until it has done something.
fn start(test: &str, folder: &Path, address: &str, round: u64) -> Child {
    let length = || std::fs::metadata(notes(folder)).map_or(0, |notes| notes.len());
    let before = length();
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim.args(["--exact", test, "--nocapture"]).stdout(Stdio::null()).current_dir(folder);
    let child = victim.env(VICTIM, round.to_string()).env(ADDRESS, address).spawn().unwrap();
    wait_for("an answer to a victim", PATIENCE, || (length() > before).then_some(()));
    child
}

#[derive(Default)]
struct Answers {
    jobs: BTreeSet<JobId>,
    /// Attempts, by job and index.
    episodes: BTreeMap<(JobId, u32), u32>,
    completed: BTreeSet<JobId>,
}

fn read_answers(folder: &Path) -> Answers {
    let mut answers = Answers::default();
    for line in std::fs::read_to_string(notes(folder)).unwrap_or_default().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let id: JobId = words[1].parse().unwrap();
        let fresh = match words[0] {
            "job" => answers.jobs.insert(id),
            "completed" => answers.completed.insert(id),
            _ => answers.episodes.insert((id, words[2].parse().unwrap()), words[3].parse().unwrap()).is_none(),
        };
        assert!(fresh, "answered twice: {line}");
    }
    answers
}

async fn compare(records: &dyn Records, folder: &Path) {
    let answers = read_answers(folder);
    for id in &answers.jobs {
        let record = records.job(None, *id).await.unwrap().unwrap_or_else(|| panic!("job {id} is lost"));
        let episodes = records.episodes(*id, 0, 100).await.unwrap();
        assert_eq!(record.episodes_done as usize, episodes.len(), "the counter of {id} is wrong");
        let indices: BTreeSet<u32> = episodes.iter().map(|e| e.episode).collect();
        assert_eq!(indices.len(), episodes.len(), "an episode of {id} is there twice");
        for ((_, index), attempt) in answers.episodes.range((*id, 0)..=(*id, u32::MAX)) {
            let found = episodes.iter().find(|e| e.episode == *index);
            assert_eq!(found.map(|e| e.steps), Some(*attempt), "episode {index} of {id}");
        }
        let completed = matches!(record.state, JobState::Completed { .. });
        assert!(completed || !answers.completed.contains(id), "the conclusion of {id} is lost");
    }
}

/// Completes the remaining work: every accepted job gets its verdict.
async fn finish(folder: &Path, address: &str, rounds: u64) {
    let records = open(address, folder).await;
    records.reconcile(in_round(rounds, 0)).await.unwrap();
    let file = OpenOptions::new().append(true).open(notes(folder)).unwrap();
    while work(&*records, &file, rounds).await.is_some() {}
    compare(&*records, folder).await;
    let answers = read_answers(folder);
    let counts = records.counts().await.unwrap();
    assert!(!answers.jobs.is_empty(), "no victim lived long enough to accept a job");
    assert_eq!((counts.queued, counts.running, counts.judging, counts.failed), (0, 0, 0, 0));
    assert!(counts.completed >= answers.jobs.len() as u64);
    for id in &answers.jobs {
        let events = records.events(*id, 0, 99).await.unwrap();
        let numbers: Vec<u32> = events.iter().map(|event| event.number).collect();
        // Acceptance, start, the results, JUDGING, COMPLETED.
        assert_eq!(numbers, (1..=EPISODES + 4).collect::<Vec<_>>(), "events of {id}");
    }
    drop(records);
    if address.is_empty() {
        let db = rusqlite::Connection::open(folder.join("assay.db")).unwrap();
        let verdict: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(verdict, "ok");
    }
}
