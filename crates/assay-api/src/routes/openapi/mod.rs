//! The OpenAPI document, built from the declarations of the handlers and the list of endpoints.

pub(in crate::routes) mod body;
pub(in crate::routes) mod document;
pub(in crate::routes) mod errors;
pub(in crate::routes) mod examples;
pub(in crate::routes) mod introduction;
pub(in crate::routes) mod links;
pub(in crate::routes) mod schemas;
pub(in crate::routes) mod webhooks;
