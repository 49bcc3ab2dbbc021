//! Checks untrusted names: rejects unusual and colliding ones, and finds the policy's root. Does no I/O.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;

use unicode_normalization::UnicodeNormalization;

use super::error::{EntryProblem, IntakeError, shown};
use super::limits::{ArchiveKind, IntakeLimits, MAX_COMPONENT_BYTES, MAX_NAME_BYTES};

/// Names that are ignored, together with everything below them, because they are not needed at run time.
const LEFT_OUT: [&str; 3] = ["__pycache__", "__MACOSX", "node_modules"];
/// The file that marks a folder as a virtual environment, which is left out too.
pub(crate) const ENVIRONMENT: &str = "pyvenv.cfg";

/// Name of an archive's only file if it was packed from a pipe (`cat policy.py | zip policy.zip -`).
const STREAMED: &str = "-";

/// Splits a name at its slashes. Every part is a plain file name; a final slash (a folder) is dropped.
pub(crate) fn components<'a>(name: &'a str, limits: &IntakeLimits) -> Result<Vec<&'a str>, EntryProblem> {
    if name.len() > MAX_NAME_BYTES {
        return Err(EntryProblem::Name("too long"));
    }
    if name.starts_with('/') || name.as_bytes().get(1) == Some(&b':') {
        return Err(EntryProblem::Absolute);
    }
    if name.contains('\\') {
        return Err(EntryProblem::Backslash);
    }
    let parts: Vec<&str> = name.strip_suffix('/').unwrap_or(name).split('/').collect();
    for part in &parts {
        match *part {
            "" | "." => return Err(EntryProblem::Name("an empty part")),
            ".." => return Err(EntryProblem::Escapes),
            part if part.len() > MAX_COMPONENT_BYTES => return Err(EntryProblem::Name("too long")),
            part if part.chars().any(char::is_control) => return Err(EntryProblem::Name("control characters")),
            part if part.chars().any(is_invisible) => return Err(EntryProblem::Name("invisible characters")),
            _ => {}
        }
    }
    if parts.len() > limits.depth {
        return Err(EntryProblem::TooDeep { found: parts.len(), limit: limits.depth });
    }
    Ok(parts)
}

/// Returns true if a reader of a listing would not see the character, or would see the name in another order (UAX #9):
/// format characters (Unicode category Cf), spaces other than the ordinary one, separators, fillers, selectors of
/// variants. Joiners are among them, so some emoji are rejected too.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
        | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{1680}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}'
        | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns what two names share if some file system, or some reader, takes them for one: compatibility forms (NFKC:
/// accents in one character or two, wide and ligature letters), upper and lower case (by way of upper case, so that `ß`
/// is `ss`), and dots and spaces at the end of a part.
fn folded(name: &str) -> String {
    let upper: String = name.nfkc().collect::<String>().to_uppercase().nfkc().collect();
    let lower: String = upper.to_lowercase().nfkc().collect();
    lower.split('/').map(|part| part.trim_end_matches(['.', ' '])).collect::<Vec<_>>().join("/")
}

/// Returns true if an entry is ignored.
pub(crate) fn is_left_out(parts: &[&str]) -> bool {
    parts.iter().any(|part| part.starts_with('.') || LEFT_OUT.contains(part))
}

/// Rejects names that would denote the same file on some file system, and a file in place of a folder.
#[derive(Debug, Default)]
pub(crate) struct Clashes {
    /// Folded path to (its first spelling, whether it is a folder that several entries may share).
    seen: HashMap<String, (String, bool)>,
}

impl Clashes {
    pub(crate) fn add(&mut self, parts: &[&str], is_folder: bool) -> Result<(), EntryProblem> {
        for length in 1..=parts.len() {
            let name = parts[..length].join("/");
            let is_folder = is_folder || length < parts.len();
            let is_named = length == parts.len();
            match self.seen.entry(folded(&name)) {
                Entry::Occupied(seen) => match seen.get() {
                    (first, true) if is_folder && *first == name => {}
                    (first, _) => return Err(EntryProblem::Duplicate(shown(first))),
                },
                Entry::Vacant(place) => drop(place.insert((name, is_folder))),
            }
            debug_assert!(is_named || is_folder);
        }
        Ok(())
    }
}

/// Returns the targets of the files: the only top folder, if it has `policy.py` (or `policy.toml`, or `scenario.toml`)
/// and the root does not, is removed from their paths.
pub(crate) fn place(files: &[Vec<String>], what: ArchiveKind) -> Result<Vec<PathBuf>, IntakeError> {
    if what == ArchiveKind::Policy && matches!(files, [only] if *only == [STREAMED]) {
        return Ok(vec![PathBuf::from(what.main())]);
    }
    let mut depths = what.mains().iter().filter_map(|main| root_depth(files, main));
    let depth = depths.next().ok_or_else(|| IntakeError::NoMain { what, elsewhere: elsewhere(files, what.main()) })?;
    Ok(files.iter().map(|parts| parts[depth..].iter().collect()).collect())
}

fn root_depth(files: &[Vec<String>], main: &str) -> Option<usize> {
    if files.iter().any(|parts| parts.len() == 1 && parts[0] == main) {
        return Some(0);
    }
    let top = files.first()?.first()?;
    let has_one_top = files.iter().all(|parts| parts.len() > 1 && parts[0] == *top);
    let has_main = files.iter().any(|parts| parts.len() == 2 && parts[1] == main);
    (has_one_top && has_main).then_some(1)
}

/// Returns the error for files of which none is the main one.
pub(crate) fn no_main(files: &[PathBuf], what: ArchiveKind) -> IntakeError {
    let parts = |file: &PathBuf| file.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let files: Vec<Vec<String>> = files.iter().map(parts).collect();
    IntakeError::NoMain { what, elsewhere: elsewhere(&files, what.main()) }
}

fn elsewhere(files: &[Vec<String>], main: &str) -> Option<String> {
    let found = files.iter().find(|parts| parts.last().is_some_and(|name| name.eq_ignore_ascii_case(main)))?;
    Some(shown(&found.join("/")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn files(names: &[&str]) -> Vec<Vec<String>> {
        names.iter().map(|name| name.split('/').map(str::to_owned).collect()).collect()
    }

    #[test]
    fn only_ordinary_names_are_accepted() {
        let check = |name| components(name, &IntakeLimits::default());
        assert_eq!(check("a/b/policy.py").unwrap(), ["a", "b", "policy.py"]);
        assert_eq!(check("a/").unwrap(), ["a"]);
        assert_eq!(check("/etc/passwd"), Err(EntryProblem::Absolute));
        assert_eq!(check("C:x"), Err(EntryProblem::Absolute));
        assert_eq!(check("a/../../b"), Err(EntryProblem::Escapes));
        assert_eq!(check("a\\b"), Err(EntryProblem::Backslash));
        for name in ["", "a//b", "./a", "a\nb", "a/\u{7}"] {
            assert!(matches!(check(name), Err(EntryProblem::Name(_))), "{name:?}");
        }
        for unseen in
            ['\u{202e}', '\u{2066}', '\u{200b}', '\u{200d}', '\u{ad}', '\u{feff}', '\u{a0}', '\u{3164}', '\u{2028}']
        {
            let name = format!("a{unseen}b/c");
            let found = components(&name, &IntakeLimits::default());
            assert_eq!(found, Err(EntryProblem::Name("invisible characters")), "{unseen:?}");
        }
        for name in ["größe.py", "データ/模型.npy", "café au lait.txt", "данные-1.npz", "e\u{301}"] {
            assert!(check(name).is_ok(), "{name:?}");
        }
        assert_eq!(check("1/2/3/4/5/6/7/8/9"), Err(EntryProblem::TooDeep { found: 9, limit: 8 }));
    }

    #[test]
    fn clashing_names_are_rejected() {
        let check = |names: &[(&str, bool)]| {
            let mut clashes = Clashes::default();
            names.iter().try_for_each(|(name, folder)| clashes.add(&name.split('/').collect::<Vec<_>>(), *folder))
        };
        assert!(check(&[("a", true), ("a/b", false), ("a/c", false)]).is_ok());
        assert!(check(&[("a/b", false), ("a", true)]).is_ok());
        assert_eq!(check(&[("a", false), ("A", false)]), Err(EntryProblem::Duplicate("a".to_owned())));
        assert!(check(&[("a", false), ("a", false)]).is_err());
        assert!(check(&[("a", false), ("a/b", false)]).is_err());
        assert!(check(&[("x/b", false), ("X/c", false)]).is_err());
        for (one, other) in [
            ("caf\u{e9}", "cafe\u{301}"),
            ("\u{fb01}le.py", "file.py"),
            ("\u{ff41}.py", "a.py"),
            ("stra\u{df}e", "STRASSE"),
            ("\u{3c3}", "\u{3c2}"),
            ("\u{212a}", "k"),
            ("\u{17f}", "s"),
            ("a.", "a"),
            ("a /b", "a/c"),
            ("\u{1c4}", "d\u{17e}"),
        ] {
            assert!(check(&[(one, false), (other, false)]).is_err(), "{one:?} {other:?}");
        }
        assert!(
            check(&[("a.py", false), ("a.pyi", false), ("b c", false), ("bc", false), ("é", false), ("e", false)])
                .is_ok()
        );
    }

    #[test]
    fn the_root_is_the_folder_with_policy_py() {
        assert_eq!(
            place(&files(&["policy.py", "a/b.py"]), ArchiveKind::Policy).unwrap(),
            [PathBuf::from("policy.py"), "a/b.py".into()]
        );
        assert_eq!(
            place(&files(&["my/policy.py", "my/w/x.npy"]), ArchiveKind::Policy).unwrap()[1],
            PathBuf::from("w/x.npy")
        );
        let refused = |names: &[&str]| place(&files(names), ArchiveKind::Policy).unwrap_err().to_string();
        assert!(refused(&["my/policy.py", "readme"]).contains("it is at 'my/policy.py'"));
        assert!(refused(&["a/b/policy.py"]).contains("a/b/policy.py"));
        assert!(refused(&["Policy.py"]).contains("rename 'Policy.py' to policy.py"));
        assert!(refused(&["a/POLICY.PY", "b"]).contains("rename it to policy.py, and pack its folder"));
        assert_eq!(place(&files(&["-"]), ArchiveKind::Policy).unwrap(), [PathBuf::from("policy.py")]);
        assert!(refused(&["-", "b"]).contains("no policy.py"));
        assert!(refused(&[]).contains("no policy.py"));
        assert_eq!(
            place(&files(&["s/scenario.toml"]), ArchiveKind::Scenario).unwrap(),
            [PathBuf::from("scenario.toml")]
        );
        let missing = place(&files(&["policy.py"]), ArchiveKind::Scenario).unwrap_err().to_string();
        assert!(missing.contains("no scenario.toml at the root of the scenario"), "{missing}");
    }
}
