//! Runs shards on lanes, wherever they come from: a server's records or, on another host, a server's worker protocol.
//!
//! Where to begin: [`dispatch::Dispatch`] (where shards come from and their results go), `runner` (the shared state),
//! `shard` (one shard on one lane).

pub(crate) mod busy;
pub(crate) mod claims;
pub(crate) mod dispatch;
pub(crate) mod intervals;
pub(crate) mod quiet;
pub(crate) mod relief;
pub(crate) mod renderers;
pub(crate) mod runner;
pub(crate) mod server_jobs;
mod servers;
mod shard;
mod shard_end;
mod shard_recorder;
mod sleepers;
pub(crate) mod warm_lane;
