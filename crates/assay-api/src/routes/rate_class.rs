//! The groups of requests that share a rate limit.

/// A group of requests that share a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RateClass {
    /// Not limited: endpoints without a key.
    Free,
    /// Reads.
    Get,
    /// `POST /verify`.
    Verify,
    /// `POST /submissions`.
    Submit,
    /// All other changes.
    Write,
    /// HTML pages with their scripts, styles and pictures. Counted only for requests with a key or a session.
    Pages,
}

impl RateClass {
    /// All classes.
    pub(crate) const ALL: [Self; 6] = [Self::Free, Self::Get, Self::Verify, Self::Submit, Self::Write, Self::Pages];
}

/// Returns the rate class of requests with this method, unless the list names another.
pub(super) fn default_rate(method: &str) -> RateClass {
    match method {
        "GET" | "HEAD" | "OPTIONS" => RateClass::Get,
        _ => RateClass::Write,
    }
}
