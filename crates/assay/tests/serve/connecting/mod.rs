//! Policies that connect to the service: `assay connect`, and callers that break the rules.

mod caller;
mod command;
mod limits;
mod rules;
mod tls;
