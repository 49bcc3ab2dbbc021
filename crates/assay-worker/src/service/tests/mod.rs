//! Tests of the service with real records and scripted lanes: no process, no simulator, no sleep.
#![expect(clippy::unwrap_used, reason = "tests")]

mod fencing;
mod models;
mod returns;
mod service_run;
