//! A service on five hosts: server, PostgreSQL, S3 and two workers, each in a network namespace of its own. Real
//! programs, real jails, a real network with faults.
//!
//! While jobs run, hosts and programs fail in ways that happen to real ones. Afterwards no episode is lost, doubled or
//! wrongly failed, no violation undone, no event number missing, no file left that no record names, and every episode
//! has the trace hash of the same episode on one machine.
//!
//! `ASSAY_HOST_FAULTS=all` runs the long list of faults.

#![expect(clippy::unwrap_used, reason = "tests")]

mod aftermath;
mod audit;
mod faults;
mod files;
mod offers;
mod site;

use std::time::{Duration, Instant};

use assay_testkit::{Assay, HostNetwork};

use self::faults::Fault;
use self::offers::Offers;
use self::site::Site;

const SCENARIO: &str = "cartpole_keepin";
/// Maximum time until the remaining episodes have ended, and until a fault has shown an effect or has passed.
const LIMIT: Duration = Duration::from_secs(900);
/// Maximum time of a complete stop after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(90);
/// Environment variable with which the leases are those of production instead of shorter ones. The long list of faults
/// has them too.
const PRODUCTION_INTERVALS: &str = "ASSAY_PRODUCTION_INTERVALS";
/// Duration of a worker's lease in seconds: a short one, and the default.
const LEASES_S: (u32, u32) = (12, 30);

/// Returns true if the long list of faults happens.
fn is_long() -> bool {
    std::env::var("ASSAY_HOST_FAULTS").is_ok_and(|list| list == "all")
}

/// Returns the duration of a worker's lease.
fn lease_s() -> u32 {
    let as_in_production = is_long() || std::env::var_os(PRODUCTION_INTERVALS).is_some();
    if as_in_production { LEASES_S.1 } else { LEASES_S.0 }
}

fn assay() -> Assay {
    Assay::new(env!("CARGO_BIN_EXE_assay"))
}

#[test]
fn jobs_on_five_hosts_survive_faults_and_end_as_on_one() {
    HostNetwork::run("hosts::jobs_on_five_hosts_survive_faults_and_end_as_on_one", |network| {
        let (faults, episodes, pause_ms) = if is_long() { (Fault::ALL, 200, 10) } else { (Fault::FEW, 24, 5) };
        let mut site = Site::start(network);
        let offers = Offers::make(&site.client, episodes, Duration::from_millis(pause_ms));
        let began = Instant::now();
        for fault in faults {
            let done = offers.episodes_done(&site.client);
            assert!(done < episodes, "the jobs ended before {fault:?}, which would show nothing");
            eprintln!("{:6.1} s, {done} episodes: {fault:?}", began.elapsed().as_secs_f64());
            fault.happen(&mut site);
            site.wait_for_progress(&offers);
        }
        aftermath::check(site, &offers);
        eprintln!("{:6.1} s: all is well", began.elapsed().as_secs_f64());
    });
}
