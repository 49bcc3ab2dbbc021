//! Names from a stranger: which are plain, which clash, and where the policy's root is. Pure.

use std::collections::HashMap;
use std::path::PathBuf;

use super::error::{EntryProblem, IntakeError, shown};
use super::limits::{Content, IntakeLimits, MAX_COMPONENT_BYTES, MAX_NAME_BYTES};

/// Left out, with all below: nothing that a policy or scenario needs at run time.
const LEFT_OUT: [&str; 2] = ["__pycache__", "__MACOSX"];

/// Splits a name at its slashes. Every part is a plain file name; a final slash (a folder) is dropped.
pub(crate) fn components<'a>(name: &'a str, limits: &IntakeLimits) -> Result<Vec<&'a str>, EntryProblem> {
    if name.len() > MAX_NAME_BYTES {
        return Err(EntryProblem::Name("too long"));
    }
    if name.starts_with('/') || name.as_bytes().get(1) == Some(&b':') {
        return Err(EntryProblem::Absolute);
    }
    if name.contains('\\') {
        return Err(EntryProblem::Name("a backslash"));
    }
    let parts: Vec<&str> = name.strip_suffix('/').unwrap_or(name).split('/').collect();
    for part in &parts {
        match *part {
            "" | "." => return Err(EntryProblem::Name("an empty part")),
            ".." => return Err(EntryProblem::Escapes),
            part if part.len() > MAX_COMPONENT_BYTES => return Err(EntryProblem::Name("too long")),
            part if part.chars().any(char::is_control) => return Err(EntryProblem::Name("control characters")),
            _ => {}
        }
    }
    if parts.len() > limits.depth {
        return Err(EntryProblem::TooDeep { found: parts.len(), limit: limits.depth });
    }
    Ok(parts)
}

/// Whether an entry is left out.
pub(crate) fn is_left_out(parts: &[&str]) -> bool {
    parts.iter().any(|part| part.starts_with('.') || LEFT_OUT.contains(part))
}

/// Refuses names that would be one file on some file system, and a file where a folder has to be.
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
            match self.seen.get(&name.to_lowercase()) {
                Some((first, true)) if is_folder && *first == name => {}
                Some((first, _)) => return Err(EntryProblem::Duplicate(shown(first))),
                None => drop(self.seen.insert(name.to_lowercase(), (name, is_folder))),
            }
            debug_assert!(is_named || is_folder);
        }
        Ok(())
    }
}

/// Where files go: the only top folder, if `policy.py` (or `scenario.toml`) is in there and not at the root, is taken
/// away.
pub(crate) fn place(files: &[Vec<String>], what: Content) -> Result<Vec<PathBuf>, IntakeError> {
    let depth = root_depth(files, what.main())
        .ok_or_else(|| IntakeError::NoMain { what, elsewhere: elsewhere(files, what.main()) })?;
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
    fn only_plain_names() {
        let check = |name| components(name, &IntakeLimits::default());
        assert_eq!(check("a/b/policy.py").unwrap(), ["a", "b", "policy.py"]);
        assert_eq!(check("a/").unwrap(), ["a"]);
        assert_eq!(check("/etc/passwd"), Err(EntryProblem::Absolute));
        assert_eq!(check("C:x"), Err(EntryProblem::Absolute));
        assert_eq!(check("a/../../b"), Err(EntryProblem::Escapes));
        for name in ["", "a//b", "./a", "a\\b", "a\nb", "a/\u{7}"] {
            assert!(matches!(check(name), Err(EntryProblem::Name(_))), "{name:?}");
        }
        assert_eq!(check("1/2/3/4/5/6/7/8/9"), Err(EntryProblem::TooDeep { found: 9, limit: 8 }));
    }

    #[test]
    fn clashes() {
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
    }

    #[test]
    fn the_root_is_where_policy_py_is() {
        assert_eq!(
            place(&files(&["policy.py", "a/b.py"]), Content::Policy).unwrap(),
            [PathBuf::from("policy.py"), "a/b.py".into()]
        );
        assert_eq!(
            place(&files(&["my/policy.py", "my/w/x.npy"]), Content::Policy).unwrap()[1],
            PathBuf::from("w/x.npy")
        );
        let refused = |names: &[&str]| place(&files(names), Content::Policy).unwrap_err().to_string();
        assert!(refused(&["my/policy.py", "readme"]).contains("it is at 'my/policy.py'"));
        assert!(refused(&["a/b/policy.py"]).contains("a/b/policy.py"));
        assert!(refused(&["Policy.py"]).contains("Policy.py"));
        assert!(refused(&[]).contains("no policy.py"));
        assert_eq!(place(&files(&["s/scenario.toml"]), Content::Scenario).unwrap(), [PathBuf::from("scenario.toml")]);
        let missing = place(&files(&["policy.py"]), Content::Scenario).unwrap_err().to_string();
        assert!(missing.contains("no scenario.toml at the root of the scenario"), "{missing}");
    }
}
