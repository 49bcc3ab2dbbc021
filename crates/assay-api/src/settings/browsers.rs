//! `[browsers]`: browser sessions, and the origins whose pages may use the service.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InvalidSetting, Seconds};

/// The section `[browsers]`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BrowserSettings {
    /// Longest time that a browser stays signed in, in seconds.
    pub session_s: Seconds,
    /// Origins whose pages may use the service, such as `https://lab.example.org`; none by default.
    pub origins: Vec<String>,
}

impl Default for BrowserSettings {
    fn default() -> Self {
        Self { session_s: Seconds::new(12 * 3600), origins: Vec::new() }
    }
}

impl BrowserSettings {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        InvalidSetting::unless_in("session_s", self.session_s, &(Seconds::new(60)..=Seconds::new(90 * 86400)))?;
        match self.origins.iter().find(|origin| !is_origin(origin)) {
            None => Ok(()),
            Some(origin) => {
                let allowed = "scheme, host and port if any, as in https://lab.example.org or http://127.0.0.1:3000";
                Err(InvalidSetting::new("origins", origin, allowed))
            }
        }
    }
}

/// Returns whether the text is an origin as browsers send it: without path and capital letters. `*` is not allowed,
/// because requests carry cookies.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-:[]".contains(&byte);
        !host.is_empty() && host.bytes().all(allowed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_validated() {
        for (origin, good) in [
            ("https://lab.example.org", true),
            ("http://127.0.0.1:3000", true),
            ("http://[::1]:3000", true),
            ("*", false),
            ("null", false),
            ("https://", false),
            ("https://lab.example.org/", false),
            ("https://Lab.example.org", false),
            ("lab.example.org", false),
        ] {
            let settings = BrowserSettings { origins: vec![origin.to_owned()], ..BrowserSettings::default() };
            assert_eq!(settings.validate().is_ok(), good, "{origin}");
        }
    }
}
