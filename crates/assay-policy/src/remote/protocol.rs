//! The protocols of policy servers, and the URL schemes that select them.
//!
//! A protocol is a folder beside this file; `docs/adding-a-protocol.md` describes how to add one.

/// A protocol that a policy server may speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// openpi over a WebSocket, with its RoboArena dialect.
    OpenPi,
    /// `POST /act` over HTTP, with named arrays or one image.
    Http,
}

/// A URL scheme, and the way in which a server at such an address is reached.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UrlScheme {
    /// The part before `://`, in lower case. Two protocols on one transport have different names (`http`,
    /// `other+http`).
    pub(super) name: &'static str,
    pub(super) protocol: Protocol,
    pub(super) is_tls: bool,
    /// The port of an address without one.
    pub(super) default_port: u16,
}

/// All URL schemes of policy servers.
pub(super) static URL_SCHEMES: [UrlScheme; 4] = [
    UrlScheme { name: "ws", protocol: Protocol::OpenPi, is_tls: false, default_port: 80 },
    UrlScheme { name: "wss", protocol: Protocol::OpenPi, is_tls: true, default_port: 443 },
    UrlScheme { name: "http", protocol: Protocol::Http, is_tls: false, default_port: 80 },
    UrlScheme { name: "https", protocol: Protocol::Http, is_tls: true, default_port: 443 },
];

/// Returns all schemes as a message lists them: `ws://, wss://, http:// or https://`.
pub(super) fn scheme_list() -> String {
    let names: Vec<String> = URL_SCHEMES.iter().map(|scheme| format!("{}://", scheme.name)).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::{URL_SCHEMES, scheme_list};

    #[test]
    fn a_message_lists_every_scheme() {
        assert_eq!(scheme_list(), "ws://, wss://, http:// or https://");
    }

    #[test]
    fn scheme_names_are_unique_and_in_lower_case() {
        for (index, scheme) in URL_SCHEMES.iter().enumerate() {
            assert_eq!(scheme.name, scheme.name.to_ascii_lowercase());
            assert!(
                URL_SCHEMES[..index].iter().all(|other| other.name != scheme.name),
                "{} is listed twice",
                scheme.name
            );
        }
    }
}
