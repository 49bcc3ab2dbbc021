//! Checks the final state after the last kill.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use assay_model::{AttemptNote, JobStatus, Verdict};
use assay_testkit::{Assay, Client, PATIENCE, ServedJob, wait_for};
use rusqlite::Connection;
use rustix::process::Signal;

use crate::kills::offers::{Offers, Policies, active, hashes};
use crate::kills::{ACCOUNTS, EPISODES, STOP_LIMIT, audit, bootstrap, files, serve};

/// Maximum time for the remaining jobs after the last kill.
const FINISH_LIMIT: Duration = Duration::from_secs(900);
/// Maximum time until maintenance has removed the files that no record names.
const MAINTENANCE_LIMIT: Duration = PATIENCE;
/// The clause that the violating policies violate.
const CLAUSE: &str = "keep_in";
/// The user of jails, when the service runs as root.
const NOBODY: u32 = 65534;

/// A job in the records.
struct Row {
    job: String,
    account: String,
    is_erased: bool,
}

/// Lets everything end, then checks jobs, statements, records and files.
pub(crate) fn check(assay: &Assay, policies: &Policies, offers: &Offers) {
    let (server, began) = (serve(assay), Instant::now());
    let client = bootstrap(assay, &server);
    wait_for("the end of all jobs", FINISH_LIMIT, || (active(&client) == Some(0)).then_some(()));
    eprintln!("the rest took {:?}", began.elapsed());
    assay.write("keys.json", client.text("/.well-known/assay-keys.json"));
    let accepted = offers.accepted.lock().unwrap().clone();
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);

    let records = Connection::open(assay.path("data/assay.db")).unwrap();
    let rows = rows(&records);
    let found: Vec<&str> = rows.iter().map(|row| row.job.as_str()).collect();
    let lost: Vec<&String> = accepted.iter().filter(|job| !found.contains(&job.as_str())).collect();
    assert!(lost.is_empty(), "accepted and lost: {lost:?}");
    let doubled = found.len() - accepted.len();
    assert!(doubled as u64 <= offers.unanswered.load(std::sync::atomic::Ordering::SeqCst), "{doubled} jobs too many");
    assert!(rows.iter().all(|row| ACCOUNTS.contains(&row.account.as_str())));
    assert_eq!(audit::changes(&records), 0, "a recorded episode was changed or removed");
    let integrity: String = records.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");

    // Maintenance begins with the server.
    let server = serve(assay);
    let client = bootstrap(assay, &server);
    let data = assay.path("data");
    let mut seen = Vec::new();
    wait_for("files that the records name, and no others", MAINTENANCE_LIMIT, || {
        let differences = files::differences(&data, &records);
        if differences != seen {
            eprintln!("after {:?}: {differences:#?}", began.elapsed());
            seen.clone_from(&differences);
        }
        differences.is_empty().then_some(())
    });
    let mut violations = 0;
    for row in &rows {
        check_events(&records, &row.job);
        if row.is_erased {
            assert!(offers.erased.lock().unwrap().contains(&row.job), "{} was erased unasked", row.job);
        } else {
            violations += check_job(assay, &client, policies, offers, &audit::notes(&records, &row.job), &row.job);
        }
    }
    assert!(!accepted.is_empty(), "no server lived long enough to accept a job");
    drop(records);
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    eprintln!("{} jobs, {violations} episodes with violations, checked after {:?}", rows.len(), began.elapsed());
    assay.assert_clean();
    let shared = std::fs::read_dir("/dev/shm").unwrap().map(Result::unwrap);
    let left: Vec<_> = shared.filter(|entry| entry.metadata().is_ok_and(|about| about.uid() == NOBODY)).collect();
    assert!(left.is_empty(), "jails left {left:?}");
}

fn rows(records: &Connection) -> Vec<Row> {
    let mut rows = records.prepare("SELECT job_id, account, erased_at IS NOT NULL FROM jobs").unwrap();
    let rows = rows.query_map([], |row| Ok(Row { job: row.get(0)?, account: row.get(1)?, is_erased: row.get(2)? }));
    rows.unwrap().map(Result::unwrap).collect()
}

/// Each end of an episode is one event, and the events are numbered without gaps.
fn check_events(records: &Connection, job: &str) {
    let sql = "SELECT number, episodes_done FROM events WHERE job_id = ?1 ORDER BY number";
    let mut events = records.prepare_cached(sql).unwrap();
    let events = events.query_map([job], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let events: Vec<(u32, u32)> = events.map(Result::unwrap).collect();
    assert!(events.iter().zip(1..).all(|((number, _), expected)| *number == expected), "{job}: {events:?}");
    assert!(events.windows(2).all(|pair| (0..=1).contains(&(pair[1].1.wrapping_sub(pair[0].1)))), "{job}: {events:?}");
    let (recorded, doubled) = records
        .query_row(
            "SELECT count(*), count(*) - count(DISTINCT episode) FROM episodes WHERE job_id = ?1",
            [job],
            |row| Ok((row.get::<_, u32>(0)?, row.get::<_, u32>(1)?)),
        )
        .unwrap();
    assert_eq!((events.last().unwrap().1, doubled), (recorded, 0), "{job}");
}

/// Checks a job that was not erased. Returns the number of its episodes with a violation.
fn check_job(
    assay: &Assay,
    client: &Client,
    policies: &Policies,
    offers: &Offers,
    notes: &[AttemptNote],
    id: &str,
) -> usize {
    let job = client.job(id);
    if job.status == JobStatus::Cancelled && offers.cancelled.lock().unwrap().contains(id) {
        return 0;
    }
    assert_eq!(job.status, JobStatus::Completed, "{id}: {:?} {notes:?}", job.error_message);
    let indexes: Vec<_> = job.episode_details.iter().map(|episode| episode.episode).collect();
    assert_eq!(indexes, (0..EPISODES).collect::<Vec<_>>(), "{id}");
    let policy = policies.of(&job);
    if let Some(expected) = policy.hashes.get(usize::try_from(job.seed).unwrap()) {
        assert_eq!(&hashes(&job), expected, "{id}: {} {notes:?}", policy.name);
    }
    let violates = |episode: usize| job.episode_details[episode].violations.iter().any(|found| found.clause == CLAUSE);
    for note in notes {
        match note {
            AttemptNote::Replaced(attempt) => assert!(job.replaced_attempts.contains(attempt), "{id}: {attempt:?}"),
            AttemptNote::Failed { .. } => panic!("{id}: {note:?}"),
            AttemptNote::Violated { episode, violation, .. } => {
                let found = &job.episode_details[*episode as usize].violations;
                assert!(
                    found.iter().any(|other| other.clause == violation.clause),
                    "{id} {episode}: {violation:?} was undone"
                );
            }
        }
    }
    let violating = (0..EPISODES as usize).filter(|episode| violates(*episode)).count();
    let seen = notes.iter().any(|note| matches!(note, AttemptNote::Violated { .. }));
    let expected = match policy.name {
        "reference" => Verdict::Safe,
        "reckless" => Verdict::Unsafe,
        "brief" => Verdict::Inconclusive,
        _ if seen => Verdict::Unsafe,
        _ => Verdict::Safe,
    };
    assert_eq!(job.verdict, Some(expected), "{id}: {} {notes:?}", policy.name);
    assert!(policy.name != "reckless" || violating == EPISODES as usize, "{id}: {violating} episodes violate");
    check_statements(assay, client, &job, policy.name);
    violating
}

/// Downloads report, statement and evidence, and has the command line check them all.
fn check_statements(assay: &Assay, client: &Client, job: &ServedJob, policy: &str) {
    let (id, folder) = (job.job_id, format!("out/{}", job.job_id));
    assay.write(&format!("{folder}/report.json"), client.text(&format!("/verify/{id}/report.json")));
    assay.write(&format!("{folder}/report.intoto.json"), client.text(&format!("/verify/{id}/attestation")));
    let mut statements = vec!["report.intoto.json".to_owned()];
    for file in job.episode_details.iter().flat_map(|episode| &episode.evidence) {
        assay.write(&format!("{folder}/{}", file.name), client.download(job.evidence_url(file).unwrap()));
        statements.extend(file.name.ends_with(".intoto.json").then(|| file.name.clone()));
    }
    for statement in statements {
        let (path, zip) = (format!("{folder}/{statement}"), format!("{policy}.zip"));
        let run = assay.run(&["attest", "verify", &path, "--policy", &zip, "--keys", "keys.json"]);
        assert_eq!(run.code, 0, "{path}: {}{}", run.stdout, run.stderr);
    }
    std::fs::remove_dir_all(assay.path(&folder)).unwrap();
}
