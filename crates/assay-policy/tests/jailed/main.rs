//! Policies in real jails with the real Python: honest ones, hostile ones, and what a lane gets of both.

#![expect(clippy::unwrap_used, reason = "tests")]

mod channels;
mod common;
mod honest;
mod hostile;
mod lane;
mod layers;
