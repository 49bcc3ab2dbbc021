//! The groups of requests that share a rate limit.

/// A group of requests that share a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RateClass {
    /// No limit: endpoints without a key.
    Free,
    /// Reads.
    Get,
    /// `POST /verify`.
    Verify,
    /// `POST /submissions`.
    Submit,
    /// Changes of models.
    Models,
    /// All other changing requests.
    Write,
    /// Sign-ins with a key.
    Sessions,
    /// HTML pages (`/ui`, `/docs`) with their scripts, styles and pictures. Only requests with a key or a session are
    /// counted.
    Pages,
}

impl RateClass {
    /// All classes.
    pub(crate) const ALL: [Self; 8] =
        [Self::Free, Self::Get, Self::Verify, Self::Submit, Self::Models, Self::Write, Self::Sessions, Self::Pages];

    /// Returns whether the servers of a site count these requests together one by one. Reads, which are many and cheap,
    /// are exchanged about every second.
    pub(crate) fn is_exact(self) -> bool {
        !matches!(self, Self::Get | Self::Pages)
    }

    /// Returns the name by which the servers of a site count these requests.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Get => "get",
            Self::Verify => "verify",
            Self::Submit => "submit",
            Self::Models => "models",
            Self::Write => "write",
            Self::Sessions => "sessions",
            Self::Pages => "pages",
        }
    }
}

/// Returns the default rate class of requests with this method.
pub(super) fn default_rate(method: &str) -> RateClass {
    match method {
        "GET" | "HEAD" | "OPTIONS" => RateClass::Get,
        _ => RateClass::Write,
    }
}
