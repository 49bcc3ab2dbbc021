//! The service over its real router and a real SQLite.
#![expect(clippy::unwrap_used, reason = "tests")]

mod app;
mod arena_pages;
mod artifacts;
mod bootstrap;
mod catalog;
mod closing;
mod community;
mod connections;
mod cors;
mod disk;
mod erase;
mod events;
mod forms;
mod idempotency;
mod job_pages;
mod jobs;
mod keys;
mod leaderboard;
mod limits;
mod manners;
mod models;
mod open_season;
mod openapi;
mod operator_pages;
mod preflight;
mod review;
mod scenario_pages;
mod serve;
mod sessions;
mod shape;
mod submissions;
mod submit_page;
mod ui;
mod verify;
mod webhooks;
