//! Webhooks: when a job has ended, its report is sent to the URL that its client gave (`callback_url`), signed
//! according to the specification "Standard Webhooks" (version 1.0.0), whose libraries verify it.
//!
//! A delivery is stored with its job and retried until the receiver confirms it or a day has passed. Its content and
//! time match the job's own resource: a submission's end is reported when it is published, not when it happened.
//!
//! Where to begin: [`deliver_webhooks`]; `message.rs` has the content, `secret.rs` the signature, `retry.rs` the
//! schedule of retries.

mod deliver;
mod message;
mod retry;
mod secret;

pub use deliver::deliver_webhooks;
pub(crate) use message::WebhookMessage;
pub(crate) use secret::new_secret;
