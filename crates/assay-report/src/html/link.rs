//! Links to files of evidence.

use super::assets::Addresses;
use super::display::clean;

/// Returns the link to a file of evidence.
pub(super) fn link(path: Option<&String>, addresses: Addresses<'_>) -> Option<String> {
    let target = match addresses {
        Some(addresses) => addresses.get(path?)?,
        None => path?,
    };
    address(target)
}

/// Returns the URL if a page may link to it: a path, or `http(s)`. Other schemes (`javascript:`, `data:`) are omitted.
pub(super) fn address(url: &str) -> Option<String> {
    let url = clean(url);
    let before_path = url.split(['/', '?', '#']).next().unwrap_or_default();
    let relative = !before_path.contains(':') && !url.starts_with("//") && !url.contains('\\');
    let web = url.starts_with("https://") || url.starts_with("http://");
    (relative || web).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn only_paths_and_web_addresses_are_linked() {
        for good in ["episodes/000/video.mp4", "/artifacts/x?sig=a:b", "https://host/v.mp4", "http://h/v"] {
            assert_eq!(address(good).as_deref(), Some(good));
        }
        for bad in [
            "javascript:alert(1)",
            "java\tscript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "//h/x",
            "\\\\h\\x",
        ] {
            assert_eq!(address(bad), None, "{bad}");
        }
    }
}
