//! Runs attacks on the jail, which are defined as data, and reports their outcomes on this machine.
//!
//! `attacks/attacks.toml` is the table: each attack with its exact expected outcome. [`run`] runs all of them with real
//! jails and the real Python; `assay doctor --jail` shows the result, and the test suite requires it. After each attack
//! it checks that nothing is left behind: no process, descriptor or file.
//!
//! In addition, [`fences`] inspects a jailed process from outside: where several layers stop the same attack, the loss
//! of one of them would not show from inside.

mod driver;
mod outside;
mod run;
mod table;

pub use outside::{FenceCheck, fences};
pub use run::{AttackError, AttackReport, run};
pub use table::{Attack, JailVariant, Table};
