//! The report in each of its forms, of jobs concluded by the model's own rules.

mod attest;
mod fixtures;
mod formats;
mod html;
mod json;
mod schemas;
mod terminal;
