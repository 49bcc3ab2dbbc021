//! Tests of sessions with scripted lanes and policies: no process, no simulator, no sleep.
#![expect(clippy::unwrap_used, reason = "tests")]

mod blame;
mod cancellation;
mod finalizing;
mod retries;
pub(crate) mod script;
mod session_run;
mod violations;
