//! The files of the book, compiled into the program.

use std::collections::BTreeMap;

use super::design_notes::{INDEX_NAME, INDEX_TEXT, NOTES};
use super::title::title;

/// Names and texts of the pages, in the order of `docs/index.md`.
const SOURCES: &[(&str, &str)] = &[
    ("index", include_str!("../../../../docs/index.md")),
    ("tutorial", include_str!("../../../../docs/tutorial.md")),
    ("install", include_str!("../../../../docs/install.md")),
    ("policies", include_str!("../../../../docs/policies.md")),
    ("adapters", include_str!("../../../../docs/adapters.md")),
    ("models", include_str!("../../../../docs/models.md")),
    ("preflight", include_str!("../../../../docs/preflight.md")),
    ("remote-policies", include_str!("../../../../docs/remote-policies.md")),
    ("python", include_str!("../../../../docs/python.md")),
    ("environments", include_str!("../../../../docs/environments.md")),
    ("ci", include_str!("../../../../docs/ci.md")),
    ("datasets", include_str!("../../../../docs/datasets.md")),
    ("arena", include_str!("../../../../docs/arena.md")),
    ("adding-a-scenario", include_str!("../../../../docs/adding-a-scenario.md")),
    ("adding-a-signal", include_str!("../../../../docs/adding-a-signal.md")),
    ("operations", include_str!("../../../../docs/operations.md")),
    ("object-storage", include_str!("../../../../docs/object-storage.md")),
    ("kubernetes", include_str!("../../../../docs/kubernetes.md")),
    ("workers", include_str!("../../../../docs/workers.md")),
    ("slurm", include_str!("../../../../docs/slurm.md")),
    ("events", include_str!("../../../../docs/events.md")),
    ("webhooks", include_str!("../../../../docs/webhooks.md")),
    ("pages", include_str!("../../../../docs/pages.md")),
    ("second-judge", include_str!("../../../../docs/second-judge.md")),
    ("contributing", include_str!("../../../../CONTRIBUTING.md")),
    ("adding-an-endpoint", include_str!("../../../../docs/adding-an-endpoint.md")),
    ("adding-a-protocol", include_str!("../../../../docs/adding-a-protocol.md")),
    ("adding-a-storage-backend", include_str!("../../../../docs/adding-a-storage-backend.md")),
    ("scenarios", include_str!("../../../../docs/scenarios.md")),
    ("robots", include_str!("../../../../docs/robots.md")),
    ("stl", include_str!("../../../../docs/stl.md")),
    ("results", include_str!("../../../../docs/results.md")),
    ("evidence", include_str!("../../../../docs/evidence.md")),
    ("settings", include_str!("../../../../docs/settings.md")),
    ("contract-changes", include_str!("../../../../docs/contract-changes.md")),
    ("frame-protocol", include_str!("../../../../docs/frame-protocol.md")),
    ("known-answers", include_str!("../../../../docs/known-answers.md")),
    ("benchmarks", include_str!("../../../../docs/benchmarks.md")),
    ("glossary", include_str!("../../../../docs/glossary.md")),
    ("changelog", include_str!("../../../../CHANGELOG.md")),
    ("architecture", include_str!("../../../../ARCHITECTURE.md")),
    ("threat-model", include_str!("../../../../docs/threat-model.md")),
    ("attestation", include_str!("../../../../docs/attestation.md")),
    ("contact-forces", include_str!("../../../../docs/contact-forces.md")),
    ("cheating", include_str!("../../../../docs/cheating.md")),
];

/// Names and contents of the pictures.
const IMAGES: &[(&str, &[u8])] = &[
    ("page-episode-dark-1280.webp", include_bytes!("../../../../docs/images/page-episode-dark-1280.webp")),
    ("page-verdict-light-1280.webp", include_bytes!("../../../../docs/images/page-verdict-light-1280.webp")),
];

/// Returns the picture with this name.
pub(crate) fn image(name: &str) -> Option<&'static [u8]> {
    IMAGES.iter().find(|(known, _)| *known == name).map(|(_, content)| *content)
}

/// Returns the names and texts of all pages: those of the index, then the design decisions, newest first.
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let list = std::iter::once((INDEX_NAME, INDEX_TEXT.as_str()));
    SOURCES.iter().copied().chain(list).chain(NOTES.iter().rev().copied())
}

/// Returns the titles of the pages by their names.
pub(super) fn titles() -> BTreeMap<&'static str, &'static str> {
    all().map(|(name, text)| (name, title(text))).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::path::Path;

    use super::{IMAGES, SOURCES, all};

    /// Pages that are too large: a megabyte of pictures of the pages, which a reader can open instead.
    const LEFT_OUT: &[&str] = &["screenshots"];

    #[test]
    fn every_page_of_the_index_is_compiled_in() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let index = std::fs::read_to_string(docs.join("index.md")).unwrap();
        let mut named = vec!["index".to_owned()];
        for part in index.split("](").skip(1) {
            let name = part.split(')').next().unwrap();
            named.extend(name.strip_suffix(".md").filter(|name| !name.contains('/')).map(str::to_owned));
        }
        named.retain(|name| !LEFT_OUT.contains(&&**name));
        named.dedup();
        let known: Vec<_> = SOURCES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(known, named, "add what is new to SOURCES, in the order of docs/index.md");
    }

    #[test]
    fn every_picture_that_a_page_shows_is_compiled_in() {
        for (name, text) in all() {
            for part in text.split("](images/").skip(1) {
                let file = part.split(')').next().unwrap();
                assert!(IMAGES.iter().any(|(known, _)| *known == file), "{name}: {file}");
            }
        }
    }
}
