//! The source of one module: the names that it declares with `use`, and the paths in its code.

use std::collections::{BTreeMap, BTreeSet};

use crate::circles::tokens::{Names, is_name, leading_path};

#[derive(Default)]
pub(crate) struct Module {
    /// Its file, below `crates/`.
    pub(crate) file: String,
    /// Names declared by `use`, and the path each stands for.
    imported: BTreeMap<String, Names>,
    /// Names declared by `pub use`. A re-export is not an import, unless the code also uses the name.
    passed_on: BTreeMap<String, Names>,
    /// Words in its code.
    words: BTreeSet<String>,
    /// Paths in its code.
    paths: BTreeSet<Names>,
}

impl Module {
    pub(crate) fn read(file: String, tokens: &[String]) -> Self {
        let mut module = Self { file, ..Self::default() };
        let mut rest = tokens;
        let mut public = false;
        while let [first, after @ ..] = rest {
            (public, rest) = match first.as_str() {
                "pub" if after[0] == "(" => (true, &after[after.iter().position(|sign| sign == ")").unwrap() + 1..]),
                "pub" => (true, after),
                "use" => {
                    let names = if public { &mut module.passed_on } else { &mut module.imported };
                    (false, declare(names, &[], after))
                }
                "mod" => (false, &after[1..]),
                name if is_name(name) => {
                    let (path, rest) = leading_path(&[], rest);
                    module.words.insert(path[0].clone());
                    module.paths.extend((path.len() > 1).then_some(path));
                    (false, rest)
                }
                _ => (false, after),
            };
        }
        module
    }

    /// Returns the path that a `use` declares `name` for.
    pub(crate) fn declared(&self, name: &str) -> Option<&Names> {
        self.imported.get(name).or_else(|| self.passed_on.get(name))
    }

    /// Returns the paths of everything that the code imports or names.
    pub(crate) fn taken(&self) -> impl Iterator<Item = &Names> {
        let used_too = self.passed_on.iter().filter(|(name, _)| self.words.contains(*name)).map(|(_, path)| path);
        self.imported.values().chain(used_too).chain(&self.paths)
    }
}

/// Adds the names of a `use` declaration behind `base`, and returns the tokens that follow.
fn declare<'a>(names: &mut BTreeMap<String, Names>, base: &[String], tokens: &'a [String]) -> &'a [String] {
    let (path, rest) = leading_path(base, tokens);
    match rest {
        [open, inner @ ..] if open == "{" => {
            let mut rest = inner;
            while rest[0] != "}" {
                rest = declare(names, &path, rest);
                rest = rest.strip_prefix(&[",".to_owned()]).unwrap_or(rest);
            }
            &rest[1..]
        }
        [star, rest @ ..] if star == "*" => {
            let is_own = path.first().is_some_and(|first| ["crate", "super", "self"].contains(&first.as_str()));
            assert!(!is_own, "name what is imported by {}::*", path.join("::"));
            rest
        }
        [word, name, rest @ ..] if word == "as" => {
            names.insert(name.clone(), path);
            rest
        }
        _ => {
            // Not a declaration: the bound `use<'_>` of a return type.
            if let Some(name) = path.iter().rfind(|name| *name != "self") {
                names.insert(name.clone(), path.clone());
            }
            rest
        }
    }
}
