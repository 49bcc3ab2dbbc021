//! The choice of processes to kill.

use std::time::{Duration, Instant};

use assay_testkit::{Assay, Jailed, wait_for};

use crate::dice::Dice;

/// A child of the server is killed once in so many milliseconds, on average.
const CHILD_KILL_MS: u64 = 250;
/// Between two looks at whether to kill.
const TICK_MS: u64 = 10;
/// Episodes that end in a life of the server, at least: a random number up to this one.
const MOST_NEEDED: u64 = 2;
/// If they end within this time.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Children that are killed for each episode that ends, at most.
const KILLS_PER_EPISODE: u64 = 4;
/// Between two looks at how many have ended.
const LOOK: Duration = Duration::from_millis(200);
/// Far above the longest life of a server.
const LIMIT: Duration = Duration::from_secs(60);

/// Counts what was killed.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Starts of the server.
    pub(crate) lives: u32,
    pub(crate) servers: u32,
    /// Simulators.
    pub(crate) lanes: u32,
    pub(crate) interpreters: u32,
    /// bubblewrap.
    pub(crate) monitors: u32,
}

impl Tally {
    /// Returns the number of processes killed.
    pub(crate) fn kills(&self) -> u32 {
        self.servers + self.lanes + self.interpreters + self.monitors
    }

    fn count(&mut self, killed: &Jailed) {
        let counter = match () {
            () if killed.is_monitor() => &mut self.monitors,
            () if killed.is_lane() => &mut self.lanes,
            () => &mut self.interpreters,
        };
        *counter += 1;
    }
}

/// Kills children of the server at random moments until `until.0` and until some `episodes` have ended, at most
/// `until.1`. Faster than a busy machine runs episodes, a job would rightly be given up in the end.
pub(crate) fn hunt(
    assay: &Assay,
    dice: &mut Dice,
    tally: &mut Tally,
    until: (Instant, u32),
    episodes: impl Fn() -> u64,
) {
    let (before, (end, most)) = (tally.kills(), until);
    let (needed, late) = (dice.below(MOST_NEEDED + 1), end + LONGEST_WAIT);
    let mut looked = Instant::now();
    let mut ended = 0;
    wait_for("the moment to kill the server", LIMIT, || {
        if looked.elapsed() > LOOK {
            (ended, looked) = (episodes(), Instant::now());
        }
        let allowed = u64::from(most).min((ended + 1) * KILLS_PER_EPISODE);
        if dice.below(CHILD_KILL_MS) < TICK_MS && u64::from(tally.kills() - before) < allowed {
            kill_one(assay, dice, tally);
        }
        let now = Instant::now();
        (now > end && (ended >= needed || now > late)).then_some(())
    });
}

/// Kills a random process of a random kind, if one runs.
fn kill_one(assay: &Assay, dice: &mut Dice, tally: &mut Tally) {
    let kinds = [Jailed::is_lane, Jailed::is_monitor, Jailed::is_interpreter];
    let kind = dice.choose(&kinds);
    let candidates: Vec<Jailed> = assay.jailed().into_iter().filter(kind).collect();
    if candidates.is_empty() {
        return;
    }
    let victim = dice.choose(&candidates);
    if victim.try_kill() {
        tally.count(victim);
    }
}
