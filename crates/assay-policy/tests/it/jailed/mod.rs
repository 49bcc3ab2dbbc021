//! Policies in real jails with the real Python: well-meant ones, hostile ones, and the jail of a lane.

#![expect(clippy::unwrap_used, reason = "tests")]

mod adapters;
mod channels;
mod common;
mod forked;
mod honest;
mod hostile;
mod lane;
mod layers;
mod models;
mod runtimes;
