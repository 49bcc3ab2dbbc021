//! What is ahead of a job that has not ended: its place in the line, when it will end, what it waits for.
//!
//! Where to begin: `forecast.rs` plays the line to its end as workers will claim it; `cache.rs` does so at most now and
//! then, for everybody who asks.

mod placeholders;
mod queue_forecast;
mod simulation;

pub use queue_forecast::QueueForecast;
pub(crate) use simulation::JobForecast;
