//! Policies: their intake, their jails, and their servers.

mod adapted;
mod guard;
mod intake;
mod jailed;
mod remote;
