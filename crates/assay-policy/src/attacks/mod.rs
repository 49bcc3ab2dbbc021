//! Attacks on the jail, as data, and what becomes of each on this machine.
//!
//! `attacks/attacks.toml` is the table: what is tried, and exactly what it must get. [`run`] tries all of it with real
//! jails and the real Python; `assay doctor --jail` shows the result, and the test suite holds it. After each attack the
//! same function looks for what is left of it: a process, a descriptor, a file.
//!
//! Beside the attacks from inside, [`fences`] looks at a jailed process from outside: where several layers stop the same
//! attack, the loss of one of them would not show from inside.

mod driver;
mod outside;
mod run;
mod table;

pub use outside::{FenceCheck, fences};
pub use run::{AttackError, AttackReport, run};
pub use table::{Attack, Table};
