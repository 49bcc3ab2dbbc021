//! A preflight: the first steps of an episode, twice, in the real lane and jail (or with the real server), to show an
//! author within seconds the data that a scenario sends and expects, and the errors in the policy.

mod attempt;
mod facts;
mod findings;
mod job;
mod run;
mod tries;
mod watch;

pub use job::PreflightJob;
pub use run::preflight;
