//! Policies: their intake, their jails, and their servers.

mod adapted;
mod archives;
mod folders;
mod guard;
mod intake;
mod jailed;
mod remote;
