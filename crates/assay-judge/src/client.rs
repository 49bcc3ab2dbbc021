//! Client of the endpoint: makes a bounded number of attempts, each with a time limit and a size limit.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{ErrorChain, Opinion, sanitise};
use ureq::Agent;
use ureq::http::{Response, StatusCode};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::answer;
use crate::{JudgeOptions, OptionsError, Question};

/// Number of attempts before the judge counts as unavailable.
const ATTEMPTS: u32 = 3;
/// Pause before the second attempt; doubled each time, unless the endpoint requests another.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum pause that an endpoint may request.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// Interval for checking that the answer is still wanted.
const TICK: Duration = Duration::from_millis(50);
/// Maximum size of an answer in bytes.
const MAX_ANSWER_BYTES: u64 = 256 * 1024;
/// Maximum length of an error message, in bytes.
const MAX_REASON_BYTES: usize = 300;

/// The reason why a judge could not be created.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// An option is invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
}

/// A client of the judge's endpoint.
#[derive(Debug, Clone)]
pub struct Judge {
    options: JudgeOptions,
    agent: Agent,
    pause: Duration,
}

/// The outcome of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeAnswer {
    /// The opinion, or the reason why there is none.
    pub opinion: Result<Opinion, String>,
    /// Tokens that the endpoint counted for all attempts.
    pub tokens: u64,
}

/// A failed attempt.
struct AttemptError {
    reason: String,
    /// `Some` if another attempt may succeed, with the pause that the endpoint requests.
    again: Option<Option<Duration>>,
}

impl Judge {
    /// Creates a judge with these options.
    ///
    /// # Errors
    /// [`JudgeError`] if they are invalid.
    pub fn new(options: JudgeOptions) -> Result<Self, JudgeError> {
        options.check()?;
        // The operator chose the address; a redirect is an error and is not followed.
        let config = Agent::config_builder()
            .timeout_global(Some(options.patience))
            .max_redirects(0)
            .http_status_as_error(false)
            .proxy(None)
            .tls_config(tls())
            .build();
        Ok(Self { agent: Agent::new_with_config(config), options, pause: PAUSE })
    }

    /// Sets the pause before the second attempt.
    #[must_use]
    pub fn pausing(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// Returns the judge's options.
    #[must_use]
    pub fn options(&self) -> &JudgeOptions {
        &self.options
    }

    /// Asks a question while `wanted` returns true and at most `tokens` are used. Never fails: a judge that does not
    /// answer has no opinion.
    #[must_use]
    pub fn ask(&self, question: &Question, tokens: u64, wanted: &dyn Fn() -> bool) -> JudgeAnswer {
        let body = Arc::from(question.body(&self.options.model).to_string());
        let (mut used, mut pause, mut reason) = (0, self.pause, "the answer is no longer wanted".to_owned());
        for attempt in 1..=ATTEMPTS {
            if !wanted() {
                break;
            }
            if used >= tokens {
                reason = format!("the job's {tokens} tokens are used up");
                break;
            }
            let Some((opinion, tokens)) = self.attempt_while(&body, wanted) else { break };
            // Saturating, because the endpoint's own count may be any number.
            used = tokens.saturating_add(used);
            let fault = match opinion {
                Ok(opinion) => return JudgeAnswer { opinion: Ok(opinion), tokens: used },
                Err(fault) => fault,
            };
            reason = sanitise(&fault.reason, MAX_REASON_BYTES);
            tracing::warn!(attempt, reason, "vision judge did not answer");
            let Some(requested_pause) = fault.again else { break };
            if attempt < ATTEMPTS {
                sleep_while(requested_pause.unwrap_or(pause).min(MAX_PAUSE), wanted);
                pause *= 2;
            }
        }
        JudgeAnswer { opinion: Err(reason), tokens: used }
    }

    /// Makes one attempt; returns `None` as soon as the answer is no longer wanted. In this case a thread still
    /// completes the request, and ends with the endpoint's time limit.
    fn attempt_while(
        &self,
        body: &Arc<str>,
        wanted: &dyn Fn() -> bool,
    ) -> Option<(Result<Opinion, AttemptError>, u64)> {
        let (answer, answered) = channel();
        let (judge, body) = (self.clone(), Arc::clone(body));
        thread::spawn(move || {
            let mut used = 0;
            let opinion = judge.attempt_once(&body, &mut used);
            // The receiver is dropped if the answer is no longer wanted.
            drop(answer.send((opinion, used)));
        });
        loop {
            match answered.recv_timeout(TICK) {
                Ok(found) => return Some(found),
                Err(RecvTimeoutError::Timeout) if wanted() => {}
                Err(_) => return None,
            }
        }
    }

    fn attempt_once(&self, body: &str, used: &mut u64) -> Result<Opinion, AttemptError> {
        let again = |reason: String| AttemptError { reason, again: Some(None) };
        let mut request = self.agent.post(self.options.endpoint()).header("Content-Type", "application/json");
        if let Some(key) = &self.options.key {
            request = request.header("Authorization", format!("Bearer {}", key.reveal()));
        }
        let mut response =
            request.send(body).map_err(|e| again(format!("could not send the question to the endpoint: {e}")))?;
        let status = response.status();
        let requested_pause = retry_after(&response);
        let answer = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        if status.is_success() {
            let answer = answer.map_err(|e| again(format!("could not read the endpoint's answer: {e}")))?;
            let (opinion, tokens) = answer::read(&answer);
            *used = tokens.saturating_add(*used);
            return opinion.map_err(|error| again(ErrorChain(&error).to_string()));
        }
        // Only the status is reported, because an endpoint's error message may repeat the key.
        let reason = format!("the endpoint answered {status}");
        let later = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        Err(AttemptError { reason, again: later.then_some(requested_pause) })
    }
}

fn sleep_while(time: Duration, wanted: &dyn Fn() -> bool) {
    let until = Instant::now() + time;
    while wanted() && Instant::now() < until {
        thread::sleep(TICK);
    }
}

fn retry_after<T>(response: &Response<T>) -> Option<Duration> {
    let seconds = response.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Returns the system's certificate authorities, as for policy servers.
fn tls() -> TlsConfig {
    let found = rustls_native_certs::load_native_certs();
    let certificates: Vec<_> = found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}
