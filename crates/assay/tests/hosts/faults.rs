//! The faults.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use assay_testkit::{HttpFault, wait_for};
use rustix::process::Signal;

use crate::hosts::site::Site;
use crate::hosts::{LIMIT, STOP_LIMIT, lease_s};

/// Delay of each 16 KiB from a slow bucket.
const SLOWNESS: Duration = Duration::from_millis(200);
const HOUR_S: i32 = 3600;

/// A fault. Numbers are workers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    WorkerKilled(usize),
    ServerKilled,
    DatabaseStopped,
    DatabaseUnplugged,
    DatabaseReset,
    BucketFails,
    BucketSlow,
    BucketUnplugged,
    WorkerUnplugged(usize),
    /// Packets from the worker to the server are lost; those in the other direction arrive.
    RequestsLost(usize),
    /// Packets from the server to the worker are lost; those in the other direction arrive.
    AnswersLost(usize),
    WorkerReset(usize),
    /// Until others have its shards.
    WorkerFrozen(usize),
    /// The worker's wall clock is wrong by so many seconds from now on.
    ClockWrong(usize, i32),
}

impl Fault {
    /// The faults of the short test.
    pub(crate) const FEW: &[Self] = &[Self::WorkerKilled(0), Self::WorkerUnplugged(1)];
    /// The long list.
    pub(crate) const ALL: &[Self] = &[
        Self::WorkerKilled(0),
        Self::ServerKilled,
        Self::DatabaseStopped,
        Self::DatabaseUnplugged,
        Self::DatabaseReset,
        Self::BucketFails,
        Self::BucketSlow,
        Self::BucketUnplugged,
        Self::WorkerUnplugged(1),
        Self::RequestsLost(0),
        Self::AnswersLost(1),
        Self::WorkerReset(0),
        Self::WorkerFrozen(1),
        Self::ClockWrong(0, HOUR_S),
        Self::ClockWrong(1, -HOUR_S),
        Self::ServerKilled,
        Self::WorkerKilled(1),
    ];

    /// Lets it happen while the worker that it is about runs an episode, and pass.
    pub(crate) fn happen(self, site: &mut Site) {
        match self {
            Self::WorkerKilled(worker) => {
                site.wait_for_work(worker);
                end(site, worker, Signal::KILL);
                site.wait_for_lapse(worker);
                site.workers[worker].start_worker(None);
            }
            Self::ServerKilled => {
                drop(site.server.take().unwrap().stop(Signal::KILL, STOP_LIMIT));
                site.start_server();
            }
            Self::DatabaseStopped => {
                site.database.stop_immediately();
                pass(duration() / 3);
                site.database_net.within(|| site.database.start_again());
            }
            Self::DatabaseUnplugged => unplug(&site.database_net),
            Self::DatabaseReset => site.server_net.reset(&site.database_net),
            Self::BucketFails => bucket(site, HttpFault::Answer(500, "InternalError")),
            Self::BucketSlow => bucket(site, HttpFault::Slow(SLOWNESS)),
            Self::BucketUnplugged => unplug(&site.s3_net),
            Self::WorkerUnplugged(worker) => {
                site.wait_for_work(worker);
                unplug(&site.workers[worker].net);
            }
            Self::RequestsLost(worker) => {
                site.wait_for_work(worker);
                site.workers[worker].net.lose_to(&site.server_net, true);
                pass(duration());
                site.workers[worker].net.lose_to(&site.server_net, false);
            }
            Self::AnswersLost(worker) => {
                site.wait_for_work(worker);
                site.server_net.lose_to(&site.workers[worker].net, true);
                pass(duration());
                site.server_net.lose_to(&site.workers[worker].net, false);
            }
            Self::WorkerReset(worker) => {
                site.wait_for_work(worker);
                site.workers[worker].net.reset(&site.server_net);
            }
            Self::WorkerFrozen(worker) => {
                site.wait_for_work(worker);
                let process = site.workers[worker].process.as_ref().unwrap();
                process.signal(Signal::STOP);
                site.wait_for_lapse(worker);
                process.signal(Signal::CONT);
            }
            Self::ClockWrong(worker, by_s) => {
                site.wait_for_work(worker);
                end(site, worker, Signal::TERM);
                let library = skewed_clock(&site.workers[worker].files.path(""), by_s);
                site.workers[worker].start_worker(Some(library));
                site.wait_for_work(worker);
            }
        }
    }
}

/// Returns the duration of a fault that has no end of its own: half of a lease, which it must not end.
fn duration() -> Duration {
    Duration::from_secs(lease_s().into()) / 2
}

fn end(site: &mut Site, worker: usize, signal: Signal) {
    let process = site.workers[worker].process.take().unwrap();
    process.signal(signal);
    drop(process.wait(STOP_LIMIT));
}

fn unplug(host: &assay_testkit::NetHost) {
    host.plug(false);
    pass(duration());
    host.plug(true);
}

fn bucket(site: &Site, fault: HttpFault) {
    let before = site.proxy.faults();
    site.proxy.set(fault);
    pass(duration());
    wait_for("a request to the bucket", LIMIT, || (site.proxy.faults() > before).then_some(()));
    site.proxy.set(HttpFault::None);
}

/// Waits for a time that is itself the fault.
fn pass(time: Duration) {
    let end = Instant::now() + time;
    wait_for("the end of the fault", LIMIT, || (Instant::now() > end).then_some(()));
}

/// Compiles a library that shifts the wall clock of a program.
fn skewed_clock(folder: &Path, by_s: i32) -> PathBuf {
    let (source, library) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/skewed_clock.c"), folder.join("skewed_clock.so"));
    let skew = format!("-DSKEW_S={by_s}");
    let compiler = Command::new("cc").args(["-shared", "-fPIC", &skew, "-o"]).args([&library, &source]).status();
    assert!(compiler.is_ok_and(|status| status.success()), "cc compiles {}", source.display());
    library
}
