//! Options of the operator.

use std::time::Duration;

use assay_model::Secret;
use url::{Host, Url};

/// Address and limits of the judge.
#[derive(Debug, Clone)]
pub struct JudgeOptions {
    /// The endpoint's base address, such as `https://example.org/v1`; `/chat/completions` is appended.
    pub base: Url,
    /// The model's name at the endpoint.
    pub model: String,
    /// Sent as a bearer token; never stored.
    pub key: Option<Secret>,
    /// Number of frames per episode, 1 to [`JudgeOptions::MAX_FRAMES`].
    pub frames: u8,
    /// Number of episodes reviewed per job, 1 to [`JudgeOptions::MAX_EPISODES`].
    pub episodes: u8,
    /// Maximum number of tokens per job, by the endpoint's count; no question is asked beyond it.
    pub tokens: u64,
    /// Maximum time to wait for an answer.
    pub patience: Duration,
}

/// An invalid option.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OptionsError {
    /// The address is not that of an endpoint.
    #[error("the judge's address must be http(s)://HOST[:PORT]/PATH without a query or a password: {0}")]
    Address(String),
    /// The key would be sent unencrypted over a network.
    #[error("the judge's address must use https, because a key is never sent unencrypted to another machine")]
    Plain,
    /// The model has no name.
    #[error("the judge needs the name of a model")]
    Model,
    /// A number is out of its range.
    #[error("{what} must be between 1 and {most}")]
    Range {
        /// The option's name.
        what: &'static str,
        /// Maximum value.
        most: u8,
    },
}

impl JudgeOptions {
    /// Default number of frames per episode.
    pub const FRAMES: u8 = 8;
    /// Maximum number of frames per episode.
    pub const MAX_FRAMES: u8 = 32;
    /// Default number of episodes per job.
    pub const EPISODES: u8 = 3;
    /// Maximum number of episodes per job.
    pub const MAX_EPISODES: u8 = 50;
    /// Default number of tokens per job.
    pub const TOKENS: u64 = 100_000;
    /// Default of the maximum time to wait for an answer.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    /// Creates the default options for `model` at `address`.
    ///
    /// # Errors
    /// [`OptionsError::Address`].
    pub fn new(address: &str, model: &str) -> Result<Self, OptionsError> {
        let bad = |why: &str| OptionsError::Address(assay_model::sanitise(why, 200));
        let base = Url::parse(address).map_err(|e| bad(&e.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(bad("the scheme is neither http nor https"));
        }
        if base.query().is_some()
            || base.fragment().is_some()
            || base.password().is_some()
            || !base.username().is_empty()
        {
            return Err(bad("it has more than host, port and path"));
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

    /// Checks that the options are valid.
    ///
    /// # Errors
    /// [`OptionsError`] names the invalid one.
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

    /// Returns the URL that questions are sent to.
    pub(crate) fn endpoint(&self) -> String {
        format!("{}/chat/completions", self.base.as_str().trim_end_matches('/'))
    }
}

/// Returns true if the URL refers to this machine.
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
    fn an_address_is_normalised() {
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
    fn invalid_options_are_reported() {
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
