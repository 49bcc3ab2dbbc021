//! Webhook secrets and deliveries: `/webhooks`.

pub(in crate::routes) mod deliveries;
pub(in crate::routes) mod secret;
