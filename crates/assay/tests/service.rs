//! `assay serve` from the view of its clients, its operator and its neighbours, and what it loses when things fail.

mod authority;
mod conform;
mod hostile;
mod hosts;
mod kills;
mod serve;
mod uploads;
