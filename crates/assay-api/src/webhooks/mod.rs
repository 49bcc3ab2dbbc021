//! Webhooks: when a job has ended, its report goes to the address that its client gave (`callback_url`), signed after the
//! specification "Standard Webhooks" (version 1.0.0), whose libraries verify it.
//!
//! A delivery is kept with its job and tried until the address confirms it or a day has passed. What it tells, and when,
//! is what the job's own address tells: a submission's end is reported when it is published, not when it happened.
//!
//! Where to begin: [`deliver_webhooks`]; `message.rs` has what is sent, `secret.rs` how it is signed, `retry.rs` when it is
//! tried again.

mod deliver;
mod message;
mod retry;
mod secret;

pub use deliver::deliver_webhooks;
pub(crate) use message::WebhookMessage;
pub(crate) use secret::new_secret;
