//! The job of a policy that connects, at the service.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use assay_model::{JobStatus, PolicyKey, Secret, to_hex};
use assay_policy::random_number;
use assay_worker::Cancel;
use serde_json::Value;

use super::arguments::ConnectArgs;
use crate::exit::{Failure, OrFail};
use crate::printing::complain;
use crate::service_client::{ServiceClient, ServiceResponse};

/// Interval for polling the job. Half of the default limit of requests.
const POLL: Duration = Duration::from_secs(2);
/// Interval for looking for Ctrl-C while waiting.
const TICK: Duration = Duration::from_millis(100);
/// Time without any answer of the service after which the command gives up.
const GIVE_UP: Duration = Duration::from_secs(600);
/// Statuses after which another attempt may succeed.
const AGAIN: [u16; 6] = [408, 429, 500, 502, 503, 504];

/// A job that was created for this policy.
pub(super) struct ConnectedJob<'a> {
    pub(super) client: &'a ServiceClient,
    pub(super) id: String,
}

/// A connection that may be opened.
pub(super) struct ConnectionOffer {
    /// Address of the WebSocket.
    pub(super) url: String,
    pub(super) token: Secret,
}

impl<'a> ConnectedJob<'a> {
    /// Creates the job.
    pub(super) fn create(client: &'a ServiceClient, arguments: &ConnectArgs, name: &str) -> Result<Self, Failure> {
        let record = serde_json::to_value(arguments.record).or_internal()?;
        let mut parts = vec![
            ("connect", "true".to_owned()),
            ("scenario", arguments.scenario.clone()),
            ("policy_name", arguments.name.clone().unwrap_or_else(|| name.to_owned())),
            ("record", record.as_str().unwrap_or_default().to_owned()),
        ];
        let mut add = |name, value: Option<String>| parts.extend(value.map(|value| (name, value)));
        add("num_episodes", arguments.episodes.map(|n| n.to_string()));
        add("seed", arguments.seed.map(|seed| seed.to_string()));
        add("policy_key", arguments.policy_key.as_ref().map(PolicyKey::to_hex));
        add("replan_steps", arguments.policy_server.replan_steps.map(|n| n.to_string()));
        add("max_violation_probability", arguments.max_violation_probability.map(|p| p.to_string()));
        add("confidence_level", arguments.confidence.map(|p| p.to_string()));
        // Random, so that no text contains it.
        let random = [random_number().or_internal()?, random_number().or_internal()?];
        let boundary = format!("assay-{}", to_hex(&random.map(u64::to_le_bytes).concat()));
        let job = client.post_form("/verify", &boundary, &parts).or_internal()?.success()?;
        let id = job["job_id"].as_str().map(str::to_owned);
        let id =
            id.ok_or_else(|| Failure::Internal(anyhow!("the response has no job_id: is this an assay service?")))?;
        complain!("assay: job {id} at {}", client.address(""));
        for warning in job["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            complain!("assay: warning: {}", assay_model::sanitise(warning, 1000));
        }
        Ok(Self { client, id })
    }

    /// Requests a connection; `None` if the job needs none any more.
    pub(super) fn offer(&self, cancel: &Cancel) -> Result<Option<ConnectionOffer>, Failure> {
        let path = format!("/verify/{}/connection", self.id);
        let response = patiently(cancel, || self.client.post_empty(&path).or_internal())?;
        match response.status {
            409 | 410 => Ok(None),
            _ => {
                let body = response.success()?;
                let text = |name: &str| body[name].as_str().map(str::to_owned);
                let (Some(url), Some(token)) = (text("connection_url"), text("token")) else {
                    return Err(Failure::Internal(anyhow!(
                        "the response has no connection: is this an assay service?"
                    )));
                };
                let url = if url.starts_with('/') { self.client.address(&url) } else { url };
                Ok(Some(ConnectionOffer { url: websocket(&url), token: Secret::new(token) }))
            }
        }
    }

    /// Returns whether the job still needs its policy.
    pub(super) fn is_open(&self, cancel: &Cancel) -> Result<bool, Failure> {
        Ok(matches!(self.status(cancel)?.1, JobStatus::Queued | JobStatus::Running))
    }

    /// Waits until the job has ended.
    pub(super) fn wait(&self, cancel: &Cancel) -> Result<(), Failure> {
        loop {
            let (job, status) = self.status(cancel)?;
            match status {
                JobStatus::Completed => return Ok(()),
                JobStatus::Failed => {
                    let why = job["error_message"].as_str().unwrap_or("no message");
                    return Err(Failure::Internal(anyhow!("the job failed: {}", assay_model::sanitise(why, 2000))));
                }
                JobStatus::Cancelled => return Err(Failure::Usage(anyhow!("the job was cancelled at the service"))),
                JobStatus::Queued | JobStatus::Running | JobStatus::Judging => pause(POLL, cancel)?,
            }
        }
    }

    /// Cancels the job, if it has not ended.
    pub(super) fn cancel(&self) {
        match self.client.post_empty(&format!("/verify/{}/cancel", self.id)) {
            Ok(response) if response.status == 200 => complain!("assay: the job was cancelled"),
            // It has ended.
            Ok(response) if response.status == 409 => {}
            Ok(_) | Err(_) => complain!("assay: warning: the job {} could not be cancelled", self.id),
        }
    }

    fn status(&self, cancel: &Cancel) -> Result<(Value, JobStatus), Failure> {
        let path = format!("/verify/{}", self.id);
        let job = patiently(cancel, || self.client.get(&path).or_internal())?.success()?;
        let status = serde_json::from_value(job["status"].clone());
        let status = status.map_err(|_| anyhow!("the job has no status: is this an assay service?")).or_internal()?;
        Ok((job, status))
    }
}

/// Sends a request until the service answers it.
fn patiently(cancel: &Cancel, send: impl Fn() -> Result<ServiceResponse, Failure>) -> Result<ServiceResponse, Failure> {
    let mut since: Option<Instant> = None;
    loop {
        let (failure, wait) = match send() {
            Ok(response) if !AGAIN.contains(&response.status) => return Ok(response),
            Ok(response) => (response.failure(), response.retry_after.unwrap_or(POLL)),
            Err(failure) => (failure, POLL),
        };
        let began = *since.get_or_insert_with(Instant::now);
        if began.elapsed() > GIVE_UP {
            return Err(failure);
        }
        pause(wait.min(GIVE_UP), cancel)?;
    }
}

/// Waits, unless the command is interrupted.
pub(super) fn pause(duration: Duration, cancel: &Cancel) -> Result<(), Failure> {
    let end = Instant::now() + duration;
    while Instant::now() < end {
        if cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
        thread::sleep(TICK.min(end.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

/// Returns the address of a WebSocket for a URL of HTTP.
fn websocket(url: &str) -> String {
    url.strip_prefix("http").map_or_else(|| url.to_owned(), |rest| format!("ws{rest}"))
}

#[cfg(test)]
mod tests {
    use super::websocket;

    #[test]
    fn a_websocket_is_as_safe_as_the_service() {
        for (url, expected) in [("http://a:1/c", "ws://a:1/c"), ("https://a/c", "wss://a/c"), ("wss://a", "wss://a")] {
            assert_eq!(websocket(url), expected);
        }
    }
}
