//! Chooses the processes to kill.

use std::time::{Duration, Instant};

use assay_testkit::{Assay, Jailed, PATIENCE, wait_for};

use crate::kills::dice::Dice;

/// Average interval between two kills of the server's children, in milliseconds.
const CHILD_KILL_MS: u64 = 250;
/// Interval between two decisions whether to kill.
const TICK_MS: u64 = 10;
/// Upper limit of the random number of episodes that must end before the server is killed.
const MOST_NEEDED: u64 = 2;
/// Maximum time to wait for these episodes.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Maximum number of children killed per ended episode.
const KILLS_PER_EPISODE: u64 = 4;
/// Interval between two checks of the number of ended episodes.
const LOOK: Duration = Duration::from_millis(200);
/// A time far longer than any life of the server.
const LIMIT: Duration = PATIENCE;

/// The number of kills, by kind of process.
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
