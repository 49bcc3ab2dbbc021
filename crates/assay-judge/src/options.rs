//! Settings of the judge.

use std::time::Duration;

use assay_model::Secret;
use url::{Host, Url};

/// Address and limits of the judge.
#[derive(Debug, Clone)]
pub struct JudgeOptions {
    /// The endpoint's base address, as in `https://example.org/v1`; `/chat/completions` is added.
    pub base: Url,
    /// The model's name there.
    pub model: String,
    /// Sent as a bearer token. Kept nowhere.
    pub key: Option<Secret>,
    /// Frames of an episode that it sees, 1 to [`JudgeOptions::MAX_FRAMES`].
    pub frames: u8,
    /// Episodes of a job that it sees, 1 to [`JudgeOptions::MAX_EPISODES`].
    pub episodes: u8,
    /// Tokens that a job may use, by the endpoint's own count; none is asked for after that.
    pub tokens: u64,
    /// Longest wait for an answer.
    pub patience: Duration,
}

/// Options that can't be.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OptionsError {
    /// Not the address of an endpoint.
    #[error("the judge's address must be http(s)://HOST[:PORT]/PATH without a query or a password: {0}")]
    Address(String),
    /// A key would cross a network in the clear.
    #[error("a key is sent to another machine only over https")]
    Plain,
    /// No model.
    #[error("the judge's model has no name")]
    Model,
    /// A number out of its range.
    #[error("{what} must be between 1 and {most}")]
    Range {
        /// Which.
        what: &'static str,
        /// Largest value.
        most: u8,
    },
}

impl JudgeOptions {
    /// Frames of an episode where nothing else is said.
    pub const FRAMES: u8 = 8;
    /// Most frames of an episode.
    pub const MAX_FRAMES: u8 = 32;
    /// Episodes of a job where nothing else is said.
    pub const EPISODES: u8 = 3;
    /// Most episodes of a job.
    pub const MAX_EPISODES: u8 = 50;
    /// Tokens of a job where nothing else is said.
    pub const TOKENS: u64 = 100_000;
    /// Longest wait for an answer.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    /// The usual options for `model` at `address`.
    ///
    /// # Errors
    /// [`OptionsError::Address`].
    pub fn new(address: &str, model: &str) -> Result<Self, OptionsError> {
        let bad = |why: &str| OptionsError::Address(assay_model::sanitise(why, 200));
        let base = Url::parse(address).map_err(|e| bad(&e.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(bad("another scheme"));
        }
        if base.query().is_some()
            || base.fragment().is_some()
            || base.password().is_some()
            || !base.username().is_empty()
        {
            return Err(bad("more than host, port and path"));
        }
        Ok(Self {
            base,
            model: model.to_owned(),
            key: None,
            frames: Self::FRAMES,
            episodes: Self::EPISODES,
            tokens: Self::TOKENS,
            patience: Self::PATIENCE,
        })
    }

    /// Whether they can be used.
    ///
    /// # Errors
    /// [`OptionsError`] names the one that can't.
    pub fn check(&self) -> Result<(), OptionsError> {
        if self.model.trim().is_empty() {
            return Err(OptionsError::Model);
        }
        if self.key.is_some() && self.base.scheme() == "http" && !is_here(&self.base) {
            return Err(OptionsError::Plain);
        }
        for (what, value, most) in
            [("frames", self.frames, Self::MAX_FRAMES), ("episodes", self.episodes, Self::MAX_EPISODES)]
        {
            if !(1..=most).contains(&value) {
                return Err(OptionsError::Range { what, most });
            }
        }
        Ok(())
    }

    /// Where questions go.
    pub(crate) fn endpoint(&self) -> String {
        format!("{}/chat/completions", self.base.as_str().trim_end_matches('/'))
    }
}

/// On this machine.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn an_endpoint_has_one_form() {
        for base in ["http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1/"] {
            assert_eq!(JudgeOptions::new(base, "m").unwrap().endpoint(), "http://127.0.0.1:8000/v1/chat/completions");
        }
        for wrong in
            ["", "v1", "ftp://localhost/", "http://u:p@localhost/", "http://localhost/?key=1", "http://localhost/#a"]
        {
            assert!(matches!(JudgeOptions::new(wrong, "m"), Err(OptionsError::Address(_))), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_is_named() {
        let with = |change: &dyn Fn(&mut JudgeOptions)| {
            let mut options = JudgeOptions::new("http://judge.example/v1", "m").unwrap();
            change(&mut options);
            options.check()
        };
        assert_eq!(with(&|_| {}), Ok(()));
        assert_eq!(with(&|o| o.key = Some(Secret::new("k"))), Err(OptionsError::Plain));
        assert_eq!(with(&|o| o.model = " ".into()), Err(OptionsError::Model));
        assert_eq!(with(&|o| o.frames = 33), Err(OptionsError::Range { what: "frames", most: 32 }));
        assert_eq!(with(&|o| o.episodes = 0), Err(OptionsError::Range { what: "episodes", most: 50 }));
        for base in ["https://judge.example/v1", "http://localhost/v1", "http://[::1]/v1", "http://127.9.9.9/v1"] {
            let mut options = JudgeOptions::new(base, "m").unwrap();
            options.key = Some(Secret::new("k"));
            assert_eq!(options.check(), Ok(()), "{base}");
        }
    }
}
