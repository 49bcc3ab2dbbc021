//! Attacks on the jail, as data, and their outcome on this machine.
//!
//! `attacks/attacks.toml` is the table: each attack with its exact expected outcome. [`run`] runs all of them with real
//! jails and the real Python; `assay doctor --jail` shows the result, and the test suite requires it. After each attack
//! the same function checks for remains: a process, a descriptor, a file.
//!
//! In addition, [`fences`] inspects a jailed process from outside: where several layers stop the same attack, the loss
//! of one of them would not show from inside.

mod driver;
mod outside;
mod run;
mod table;

pub use outside::{FenceCheck, fences};
pub use run::{AttackError, AttackReport, run};
pub use table::{Attack, Table};
