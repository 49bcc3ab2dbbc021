//! The dated design decisions of `docs/design`, compiled into the program.

use std::sync::LazyLock;

use super::title::title;

/// Name of the page that lists them.
pub(super) const INDEX_NAME: &str = "design";
/// The text of `docs/design/index.md`; the book makes its list from the files' names.
const INDEX: &str = include_str!("../../../../docs/design/index.md");

macro_rules! notes {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../../../docs/design/", $name, ".md")))),*]
    };
}

/// Names and texts of the notes, oldest first.
pub(super) const NOTES: &[(&str, &str)] = notes![
    "2026-11-21-cheap-requests",
    "2026-11-21-isolation-tiers",
    "2026-11-21-lane-shares-pid-namespace",
    "2026-11-21-lane-with-cameras",
    "2026-11-21-no-cgroups",
    "2026-11-21-spare-lane",
    "2026-11-21-trace-format",
    "2026-11-21-warm-interpreters",
    "2026-11-22-attempts-and-blame",
    "2026-11-22-between-jails",
    "2026-11-22-conclusions",
    "2026-11-22-contact-forces",
    "2026-11-22-full-disks",
    "2026-11-22-known-keys",
    "2026-11-22-open-season-grid",
    "2026-11-22-people-stop",
    "2026-11-22-policy-key",
    "2026-11-22-smaller-evidence",
    "2026-11-22-video-later",
    "2026-11-23-board-intervals",
    "2026-11-23-key-cache",
    "2026-11-23-one-language",
    "2026-11-23-packing-after-the-verdict",
    "2026-11-23-scenario-versions",
    "2026-11-23-shape-of-a-trace",
    "2026-11-23-webhooks",
    "2026-11-24-fork-server",
    "2026-11-24-models-by-digest",
    "2026-11-24-runtimes",
    "2026-11-25-adapters",
    "2026-11-25-book",
    "2026-11-25-cameras",
    "2026-11-25-connected-policies",
    "2026-11-25-datasets",
    "2026-11-25-environments",
    "2026-11-25-gpu",
    "2026-11-25-object-storage",
    "2026-11-25-pictures",
    "2026-11-25-postgres",
    "2026-11-25-several-servers",
    "2026-11-25-unconfirmed-reports",
    "2026-11-25-workers",
    "2026-11-26-a-million-episodes",
    "2026-11-28-limits-of-work",
    "2026-11-28-one-pool-of-tests",
];

/// The page that lists them, newest first.
pub(super) static INDEX_TEXT: LazyLock<String> = LazyLock::new(|| {
    let mut text = INDEX.split("```").next().unwrap_or_default().to_owned();
    for (name, note) in NOTES.iter().rev() {
        let date = name.get(..DATE_BYTES).unwrap_or_default();
        text.push_str(&format!("- [{}]({name}.md), {date}\n", title(note)));
    }
    text
});
/// Returns whether a page of this name is one of the notes.
pub(super) fn is_design_note(name: &str) -> bool {
    NOTES.iter().any(|(known, _)| *known == name)
}

/// Length of the date that a name begins with, in bytes.
const DATE_BYTES: usize = "2026-01-01".len();

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::path::Path;

    use super::NOTES;

    #[test]
    fn every_note_is_compiled_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = files.filter_map(|file| Some(file.strip_suffix(".md")?.to_owned())).collect();
        names.retain(|name| name != "index");
        names.sort();
        let known: Vec<_> = NOTES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(known, names, "add what is new to NOTES");
    }
}
