//! Sending of webhooks through the address guard.

use assay_api::WebhookSender;
use assay_model::Secret;
use assay_policy::remote::{AddressGuard, check_post, post};
use async_trait::async_trait;

/// Sends to public addresses and to the networks that the operator opened for webhooks.
#[derive(Debug)]
pub(crate) struct GuardedSender(pub(crate) AddressGuard);

#[async_trait]
impl WebhookSender for GuardedSender {
    fn check(&self, url: &str) -> Result<Secret, String> {
        check_post(&self.0, url).map(|endpoint| Secret::new(endpoint.in_full()))
    }

    async fn post(&self, url: &Secret, headers: &[(&'static str, String)], body: Vec<u8>) -> Result<u16, String> {
        // Checked again because the operator may have removed a network from the settings since.
        post(&self.0, &check_post(&self.0, url.reveal())?, headers, body).await
    }
}
