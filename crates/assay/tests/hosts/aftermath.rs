//! Checks the final state.

use std::time::Duration;

use assay_model::{AttemptNote, JobStatus};
use assay_testkit::{PATIENCE, Postgres, wait_for};
use rustix::process::Signal;
use serde_json::json;

use crate::hosts::offers::{Expected, Offer, Offers};
use crate::hosts::site::Site;
use crate::hosts::{LIMIT, STOP_LIMIT, audit, files};

/// Maximum time until maintenance has removed the files that no record names.
const MAINTENANCE_LIMIT: Duration = PATIENCE;

/// Lets everything end, then checks jobs, records and files, and stops all programs.
pub(crate) fn check(mut site: Site, offers: &Offers) {
    wait_for("the end of all jobs", LIMIT, || offers.has_ended(&site.client).then_some(()));
    offers.0.iter().for_each(|offer| check_job(&site, offer));
    assert_eq!(audit::changes(&site.database), "0", "a recorded episode was changed or removed");
    let workers = site.client.get("/v1/workers");
    let honest = workers.body["workers"].as_array().unwrap().iter().all(|worker| worker["state"] == json!("ACTIVE"));
    assert!(honest, "a fault is no lie: {}", workers.body);
    for worker in &mut site.workers {
        let process = worker.process.take().unwrap();
        process.signal(Signal::TERM);
        let run = process.wait(STOP_LIMIT);
        assert_eq!(run.code, 0, "{}", run.stderr);
        worker.files.assert_clean();
    }
    let mut seen = Vec::new();
    wait_for("files in the bucket that the records name, and no others", MAINTENANCE_LIMIT, || {
        let differences = files::in_bucket(&site);
        if differences != seen {
            eprintln!("{differences:#?}");
            seen.clone_from(&differences);
        }
        differences.is_empty().then_some(())
    });
    assert_eq!(site.server.take().unwrap().stop(Signal::TERM, STOP_LIMIT).code, 0);
    site.server_files.assert_clean();
    let unknown = files::on_hosts(&site);
    assert!(unknown.is_empty(), "{unknown:?}");
}

fn check_job(site: &Site, offer: &Offer) {
    let (job, notes) = (site.client.job(&offer.id), audit::notes(&site.database, &offer.id));
    let id = &offer.id;
    assert_eq!(job.status, JobStatus::Completed, "{id}: {:?} {notes:?}", job.error_message);
    let indexes: Vec<u64> = job.episode_details.iter().map(|episode| episode.episode.into()).collect();
    assert_eq!(indexes, (0..offer.episodes).collect::<Vec<_>>(), "{id}");
    if let Some(expected) = &offer.expected {
        assert_eq!(&Expected::from(&job.report), expected, "{id}: {notes:?}");
    }
    for note in &notes {
        match note {
            AttemptNote::Replaced(attempt) => assert!(job.replaced_attempts.contains(attempt), "{id}: {attempt:?}"),
            AttemptNote::Violated { episode, violation, origin } => {
                let result = &job.episode_details[*episode as usize];
                let stands = result.violations.iter().any(|other| other.clause == violation.clause);
                // One that the trace of a later attempt does not show has one witness, which the report names.
                let witness = origin.as_ref().map(|origin| origin.worker.as_str()).unwrap_or_default();
                let is_told = result.unconfirmed.iter().any(|told| told.contains(witness) && !witness.is_empty());
                assert!(stands || is_told, "{id} {episode}: {violation:?} was undone");
            }
            // Reported by one host, and run again by another.
            AttemptNote::Failed { .. } => {}
        }
    }
    check_events(&site.database, offer);
    let violated = notes.iter().filter(|note| matches!(note, AttemptNote::Violated { .. })).count();
    eprintln!("{} episodes, {:?}, {violated} violations noted; replaced:", offer.episodes, job.verdict);
    job.replaced_attempts.iter().for_each(|attempt| eprintln!("    {}: {}", attempt.episode, attempt.evidence));
}

/// Each end of an episode is one event, and the events are numbered without gaps.
fn check_events(database: &Postgres, offer: &Offer) {
    let sql =
        format!("SELECT number || ' ' || episodes_done FROM events WHERE job_id = '{}' ORDER BY number", offer.id);
    let events = database.sql(audit::DATABASE, &sql);
    let parse = |line: &str| -> (u64, u64) {
        let (number, done) = line.split_once(' ').unwrap();
        (number.parse().unwrap(), done.parse().unwrap())
    };
    let events: Vec<(u64, u64)> = events.lines().map(parse).collect();
    assert!(events.iter().zip(1..).all(|((number, _), expected)| *number == expected), "{}: {events:?}", offer.id);
    assert!(
        events.windows(2).all(|pair| (0..=1).contains(&pair[1].1.wrapping_sub(pair[0].1))),
        "{}: {events:?}",
        offer.id
    );
    assert_eq!(events.last().unwrap().1, offer.episodes, "{}", offer.id);
}
