//! kill -9 of the server, of simulators, interpreters and monitors at random moments, while several accounts have jobs:
//! no accepted job is lost, no episode counted twice, no violation undone, no file left that no record names, and every
//! statement holds.
//!
//! `ASSAY_KILLS` is how many processes are killed, `ASSAY_KILLS_SEED` chooses the moments and the victims, as far as
//! the machine allows.

#![expect(clippy::unwrap_used, reason = "tests")]

mod aftermath;
mod audit;
mod dice;
mod files;
mod offers;
mod victims;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_testkit::{Assay, Client, Server, wait_for};
use rustix::process::Signal;
use serde_json::json;

use self::dice::Dice;
use self::offers::{Offers, Policies};
use self::victims::Tally;

const SCENARIO: &str = "cartpole_keepin";
/// Number of episodes of each job.
const EPISODES: u32 = 2;
/// Number of different seeds of jobs.
const SEEDS: u64 = 3;
const ACCOUNTS: [&str; 3] = ["team0", "team1", "team2"];
const DEFAULT_KILLS: u32 = 40;
const DEFAULT_SEED: u64 = 20_261_122;
/// Maximum time before the server is killed.
const LONGEST_LIFE_MS: u64 = 6000;
/// Inverse rate at which the server is killed before it listens.
const STILLBORN: u64 = 8;
/// Maximum time before such a kill.
const LONGEST_START_MS: u64 = 400;
/// Approximate duration of an upload, in microseconds.
const LONGEST_UPLOAD_US: u64 = 6000;
/// Maximum time to wait for the start of an upload.
const UPLOAD_LIMIT: Duration = Duration::from_millis(500);
const STOP_LIMIT: Duration = Duration::from_secs(10);
const OPTIONS: [&str; 4] = ["--lanes", "2", "--set", "retention.every_s=0.5"];

/// Reads a number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, not a number")))
}

fn serve(assay: &Assay) -> Server {
    assay.serve(&assay.path("data"), &OPTIONS)
}

fn bootstrap(assay: &Assay, server: &Server) -> Client {
    server.client(&std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap())
}

/// Creates a key of each account, and the audit of the records.
fn prepare(assay: &Assay) -> Vec<String> {
    let server = serve(assay);
    let admin = bootstrap(assay, &server);
    let key = |account: &&str| {
        let wish = json!({ "name": account, "account": account, "scopes": ["read", "verify"] });
        admin.post_json("/keys", &wish).body["key"].as_str().unwrap().to_owned()
    };
    let keys = ACCOUNTS.iter().map(key).collect();
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    audit::install(&assay.path("data/assay.db"));
    keys
}

/// One life of the server: jobs are offered, its children killed, then itself; at most `left` kills in all.
fn life(
    assay: &Assay,
    policies: &Policies,
    keys: &[String],
    dice: &mut Dice,
    offers: &Offers,
    tally: &mut Tally,
    left: u32,
) {
    tally.lives += 1;
    tally.servers += 1;
    if dice.below(STILLBORN) == 0 {
        let running = assay.begin_serving(&assay.path("data"), &OPTIONS);
        let end = Instant::now() + Duration::from_millis(dice.below(LONGEST_START_MS));
        wait_for("the moment to kill", STOP_LIMIT, || (Instant::now() > end).then_some(()));
        running.signal(Signal::KILL);
        drop(running.wait(STOP_LIMIT));
        return;
    }
    let server = serve(assay);
    offers.begin_life(dice);
    std::thread::scope(|scope| {
        for (number, key) in keys.iter().enumerate() {
            let (client, seed) = (server.client(key), dice.below(u64::MAX));
            scope.spawn(move || offers.keep_offering(ACCOUNTS[number], &client, policies, Dice(seed)));
        }
        let end = Instant::now() + Duration::from_millis(dice.below(LONGEST_LIFE_MS));
        let client = bootstrap(assay, &server);
        victims::hunt(assay, dice, tally, (end, left - 1), || offers::episodes(&client));
        // Half of the kills happen in the middle of an upload, if one starts soon.
        if tally.lives.is_multiple_of(2) {
            die_in_upload(offers, Duration::from_micros(dice.below(LONGEST_UPLOAD_US)));
        }
        offers.life_is_over.store(true, Ordering::SeqCst);
        drop(server.stop(Signal::KILL, STOP_LIMIT));
    });
}

/// Returns `after` the next upload begins. Too short a time to sleep.
fn die_in_upload(offers: &Offers, after: Duration) {
    let (before, limit) = (offers.uploads.load(Ordering::SeqCst), Instant::now() + UPLOAD_LIMIT);
    while offers.uploads.load(Ordering::SeqCst) == before && Instant::now() < limit {
        std::hint::spin_loop();
    }
    let end = Instant::now() + after;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

#[test]
fn nothing_is_lost_doubled_or_undone() {
    let kills = setting("ASSAY_KILLS").map_or(DEFAULT_KILLS, |kills| u32::try_from(kills).unwrap());
    let seed = setting("ASSAY_KILLS_SEED").unwrap_or(DEFAULT_SEED);
    eprintln!("{kills} kills, ASSAY_KILLS_SEED={seed}");
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let policies = Policies::new(&assay);
    let keys = prepare(&assay);
    let (mut dice, mut tally, offers) = (Dice(seed), Tally::default(), Offers::default());
    let began = Instant::now();
    while tally.kills() < kills {
        let left = kills - tally.kills();
        life(&assay, &policies, &keys, &mut dice, &offers, &mut tally, left);
        eprintln!("{:6.1} s: {} kills", began.elapsed().as_secs_f64(), tally.kills());
    }
    eprintln!("{tally:?} in {:?}", began.elapsed());
    assert!(tally.servers > kills / 40 && tally.lanes > 0 && tally.interpreters > 0, "{tally:?}");
    aftermath::check(&assay, &policies, &offers);
}
