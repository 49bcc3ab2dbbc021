//! Workers on other hosts: real workers, workers that lie, and a server that lies to its worker.

mod commands;
mod distrust;
mod evasions;
mod evidence;
mod fixture;
mod forgeries;
mod jobs;
mod leaving;
mod lies;
mod renders;
mod runtimes;
mod tasks;
mod unconfirmed;
