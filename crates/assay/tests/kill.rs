//! kill -9 of the server and of lanes at random moments: no accepted job is lost, no episode is counted twice, and the
//! traces are those of a run that nobody disturbed.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use assay_model::{JobReport, JobStatus};
use assay_testkit::{Assay, Jailed, example, wait_for, zip_folder};
use rusqlite::Connection;
use rustix::process::Signal;

const SCENARIO: &str = "cartpole_keepin";
const JOBS: usize = 50;
/// Of each job.
const EPISODES: u32 = 2;
/// Jobs take their seed from so many, in turn.
const SEEDS: usize = 5;
/// Jobs offered per life of the server.
const OFFERED: usize = 7;
/// The longest life of a server that will be killed.
const LONGEST_LIFE_MS: u64 = 2500;
/// A lane is killed once in so many milliseconds, on average.
const LANE_KILL_MS: u64 = 250;
/// About how long the server takes for an upload, in microseconds.
const LONGEST_UPLOAD_US: u64 = 6000;
/// For what is left after the last kill.
const FINISH_LIMIT: Duration = Duration::from_secs(120);
/// Between two looks at whom to kill.
const TICK_MS: u64 = 25;

/// SplitMix64 (Steele, Lea and Flood 2014): the same moments in every run, as far as the machine allows.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Trace hashes of an undisturbed run with each seed.
fn undisturbed(assay: &Assay) -> Vec<Vec<String>> {
    let policy = assay.path("policy.zip");
    let episodes = EPISODES.to_string();
    let run = |seed: usize| {
        let seed = seed.to_string();
        let policy = policy.to_str().unwrap();
        let arguments = ["verify", policy, "--scenario", SCENARIO, "--episodes", &episodes, "--seed", &seed, "--json"];
        hashes(&serde_json::from_str(&assay.run(&arguments).stdout).unwrap())
    };
    (0..SEEDS).map(run).collect()
}

fn hashes(report: &JobReport) -> Vec<String> {
    report.episode_details.iter().map(|episode| episode.trace_hash.clone().unwrap_or_default()).collect()
}

/// What happened.
#[derive(Debug, Default)]
struct Tally {
    lives: u32,
    lanes_killed: u32,
    unanswered: u32,
}

/// One life of the server: jobs are offered, lanes killed, then the server. Adds accepted jobs with their seeds.
fn life(assay: &Assay, zip: &[u8], dice: &mut Dice, accepted: &mut BTreeMap<String, usize>, tally: &mut Tally) {
    let server = assay.serve(&assay.path("data"), &["--lanes", "2"]);
    let key = std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    let client = server.client(&key);
    let end = Instant::now() + Duration::from_millis(dice.below(LONGEST_LIFE_MS));
    // Every other life ends in the middle of an upload.
    let last_words = tally.lives.is_multiple_of(2).then(|| (dice.below(OFFERED as u64), dice.below(LONGEST_UPLOAD_US)));
    let begun = AtomicU64::new(0);
    tally.lives += 1;
    std::thread::scope(|scope| {
        let first = accepted.len();
        let begun = &begun;
        let offer = move |seed: usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            let (text, episodes) = (seed.to_string(), EPISODES.to_string());
            let parts = [("scenario", SCENARIO), ("num_episodes", &episodes), ("seed", &text), ("record", "none")];
            let answer = client.try_verify(zip, &parts)?;
            assert_eq!(answer.status, 201, "{}", answer.body);
            Some((answer.body["job_id"].as_str().unwrap().to_owned(), seed))
        };
        let offers =
            scope.spawn(move || (first..JOBS.min(first + OFFERED)).map(|n| offer(n % SEEDS)).collect::<Vec<_>>());
        wait_for("the moment to kill", Duration::from_millis(2 * LONGEST_LIFE_MS), || {
            let lanes: Vec<Jailed> = assay.jailed().into_iter().filter(Jailed::is_lane).collect();
            if !lanes.is_empty() && dice.below(LANE_KILL_MS) < TICK_MS {
                let chosen = usize::try_from(dice.below(lanes.len() as u64)).unwrap();
                lanes[chosen].kill();
                tally.lanes_killed += 1;
            }
            (Instant::now() > end || last_words.is_some()).then_some(())
        });
        if let Some((upload, after_us)) = last_words {
            // Too short a time to sleep.
            while begun.load(Ordering::SeqCst) <= upload && Instant::now() < end {
                std::hint::spin_loop();
            }
            let end = Instant::now() + Duration::from_micros(after_us);
            while Instant::now() < end {
                std::hint::spin_loop();
            }
        }
        drop(server.stop(Signal::KILL, Duration::from_secs(10)));
        for answer in offers.join().unwrap() {
            match answer {
                Some((id, seed)) => assert_eq!(accepted.insert(id, seed), None),
                None => tally.unanswered += 1,
            }
        }
    });
}

/// A number from the records, asked beside the server.
fn count(assay: &Assay, sql: &str) -> u32 {
    let db = Connection::open(assay.path("data/assay.db")).unwrap();
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn nothing_is_lost_and_nothing_counted_twice() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let zip = zip_folder(&example(SCENARIO, "reckless"));
    assay.write("policy.zip", &zip);
    let expected = undisturbed(&assay);
    let (mut dice, mut accepted, mut tally) = (Dice(20_261_121), BTreeMap::new(), Tally::default());
    while accepted.len() < JOBS {
        life(&assay, &zip, &mut dice, &mut accepted, &mut tally);
    }
    eprintln!("{tally:?}");
    assert!(tally.lives > 5 && tally.lanes_killed > 3, "{tally:?}");

    let server = assay.serve(&assay.path("data"), &["--lanes", "2"]);
    let client = server.client(&std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let started = Instant::now();
    for (id, seed) in &accepted {
        let job = client.ended_job(id, FINISH_LIMIT.saturating_sub(started.elapsed()));
        assert_eq!(job.status, JobStatus::Completed, "{id}: {:?}\n{}", job.error_message, server.log());
        let indexes: Vec<_> = job.episode_details.iter().map(|episode| episode.episode).collect();
        assert_eq!(indexes, (0..EPISODES).collect::<Vec<_>>(), "{id}");
        assert_eq!(hashes(&job), expected[*seed], "{id}: {:?}", job.episode_details[0].error);
        for episode in &job.episode_details {
            let file = episode.evidence.iter().find(|file| file.name.ends_with("trace.parquet")).unwrap();
            let trace = std::fs::read(assay.path(&format!("data/blobs/jobs/{id}/{}", file.sha256))).unwrap();
            assert!(trace.starts_with(b"PAR1") && trace.ends_with(b"PAR1"), "{id}: episode {}", episode.episode);
        }
    }
    eprintln!("the rest took {:?}", started.elapsed());
    // Jobs whose 201 was never heard are jobs all the same.
    wait_for("the end of all jobs", FINISH_LIMIT, || {
        (count(&assay, "SELECT count(*) FROM jobs WHERE status <> 'COMPLETED'") == 0).then_some(())
    });
    assert_eq!(server.stop(Signal::TERM, Duration::from_secs(10)).code, 0);
    let jobs = count(&assay, "SELECT count(*) FROM jobs");
    assert!((u32::try_from(JOBS).unwrap()..=u32::try_from(JOBS).unwrap() + tally.unanswered).contains(&jobs));
    assert_eq!(count(&assay, "SELECT count(*) FROM episodes"), jobs * EPISODES);
    // What killed servers left behind was found by those that came after them.
    assay.assert_clean();
}
