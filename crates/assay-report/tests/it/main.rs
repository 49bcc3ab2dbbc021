//! Tests of the report in each of its forms, for jobs concluded by the rules of the model.

mod attest;
mod fixtures;
mod formats;
mod html;
mod json;
mod schemas;
mod terminal;
