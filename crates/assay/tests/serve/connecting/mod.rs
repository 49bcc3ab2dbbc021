//! Policies that connect to the service: `assay connect`, and callers that break the rules.

pub(super) mod caller;
mod command;
mod limits;
mod rules;
mod tls;
