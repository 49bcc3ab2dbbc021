//! The forecast for jobs that have not ended: the position in the queue, the estimated end, and what the job waits for.
//!
//! Where to begin: `simulation.rs` simulates the queue to its end as workers will claim it; `queue_forecast.rs` caches
//! the result for all requests.

mod job_forecast;
mod placeholders;
mod queue_forecast;
mod simulation;

pub(crate) use job_forecast::JobForecast;
pub use queue_forecast::QueueForecast;
