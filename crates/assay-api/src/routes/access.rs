//! Access rules for requests, from the list of endpoints: whether a path needs a key, and the rate class of a request.
//! They also cover paths without an endpoint.

use axum::http::Method;

use super::endpoint::Endpoint;
use super::rate_class::{RateClass, default_rate};

/// Beginning of the paths of the worker protocol.
const WORKER_PATHS: &str = "/worker/v1/";

/// The rules of all endpoints.
#[derive(Debug)]
pub(crate) struct AccessRules {
    public: Vec<PathPattern>,
    /// Endpoints whose rate class is not that of their method.
    rates: Vec<(&'static str, PathPattern, RateClass)>,
}

/// The literal part of an endpoint's path.
#[derive(Debug)]
struct PathPattern {
    literal: &'static str,
    /// True if parameters follow.
    is_prefix: bool,
}

impl PathPattern {
    fn of(path: &'static str) -> Self {
        match path.split_once('{') {
            Some((literal, _)) => Self { literal, is_prefix: true },
            None => Self { literal: path, is_prefix: false },
        }
    }

    fn matches(&self, path: &str) -> bool {
        if self.is_prefix { path.starts_with(self.literal) } else { path == self.literal }
    }
}

impl AccessRules {
    pub(crate) fn new(endpoints: &[Endpoint]) -> Self {
        let public = endpoints.iter().filter(|endpoint| !endpoint.needs_key);
        let other = |endpoint: &&Endpoint| ![RateClass::Free, default_rate(endpoint.method)].contains(&endpoint.rate);
        let rate = |endpoint: &Endpoint| (endpoint.method, PathPattern::of(endpoint.path), endpoint.rate);
        // Workers on other hosts have tokens instead of keys.
        let protocol = PathPattern { literal: WORKER_PATHS, is_prefix: true };
        Self {
            public: public.map(|endpoint| PathPattern::of(endpoint.path)).chain([protocol]).collect(),
            rates: endpoints.iter().filter(other).map(rate).collect(),
        }
    }

    /// Returns whether requests with this path need no key. URLs of artifacts and thumbnails are their own credentials,
    /// the endpoints of sessions check the request's key themselves, and metrics are guarded by the peer's address.
    pub(crate) fn is_public(&self, path: &str) -> bool {
        let path = unversioned(path);
        let path = if path.is_empty() { "/" } else { path };
        self.public.iter().any(|pattern| pattern.matches(path))
    }

    /// Returns the rate class of a request with a key.
    pub(crate) fn rate_class(&self, method: &Method, path: &str) -> RateClass {
        let path = unversioned(path).trim_end_matches('/');
        let method = match *method {
            Method::HEAD | Method::OPTIONS => "GET",
            ref method => method.as_str(),
        };
        let found = self.rates.iter().find(|(of, pattern, _)| *of == method && pattern.matches(path));
        found.map_or_else(|| default_rate(method), |(_, _, class)| *class)
    }
}

/// Returns the path without the prefix of the version.
fn unversioned(path: &str) -> &str {
    path.strip_prefix("/v1").filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::routes::list;

    #[test]
    fn access_rules_match_the_list() {
        let (endpoints, rules) = (list(), AccessRules::new(&list()));
        for Endpoint { method, path, needs_key, rate, .. } in endpoints {
            let method: Method = method.parse().unwrap();
            for path in [path.to_owned(), format!("/v1{path}")] {
                assert_eq!(rules.is_public(&path), !needs_key, "{path}");
                if rate != RateClass::Free {
                    assert_eq!(rules.rate_class(&method, &path), rate, "{method} {path}");
                }
            }
        }
    }

    #[test]
    fn rules_cover_paths_without_an_endpoint() {
        let rules = AccessRules::new(&list());
        for (path, is_public) in [
            ("/v1", true),
            ("/v1healthz", false),
            ("/v1/v1", false),
            ("/docs/a/b", true),
            ("/docsx", false),
            ("/nope", false),
        ] {
            assert_eq!(rules.is_public(path), is_public, "{path}");
        }
        for (method, path, class) in [
            (Method::POST, "/verify/", RateClass::Verify),
            (Method::HEAD, "/docs/x", RateClass::Pages),
            (Method::POST, "/docs/x", RateClass::Write),
            (Method::PUT, "/verify", RateClass::Write),
            (Method::OPTIONS, "/verify", RateClass::Get),
        ] {
            assert_eq!(rules.rate_class(&method, path), class, "{method} {path}");
        }
    }
}
