//! The modules of a crate, and the imports between their files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::circles::module::Module;
use crate::circles::tokens::{Names, tokens};

/// Files, and the files that each imports with the names it takes from them.
pub(crate) type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Maximum number of `use` declarations between a name and its definition.
const MAX_STEPS: u32 = 8;

/// The modules of a crate, by their path from its root.
#[derive(Default)]
pub(crate) struct Modules(BTreeMap<Names, Module>);

impl Modules {
    /// Reads the module `at` from `file`, and the modules that it declares from the files next to it.
    pub(crate) fn read(&mut self, crates: &Path, at: &[String], file: &Path) {
        let tokens = tokens(&fs::read_to_string(file).unwrap());
        let folder = match file.file_stem().unwrap().to_str().unwrap() {
            "lib" | "mod" => file.parent().unwrap().to_owned(),
            _ => file.with_extension(""),
        };
        for declared in tokens.windows(3).filter(|three| three[0] == "mod" && three[2] == ";") {
            let name = &declared[1];
            let beside = folder.join(format!("{name}.rs"));
            let child = if beside.exists() { beside } else { folder.join(name).join("mod.rs") };
            // A file named by `#[path]` is in another place, and is a test.
            if child.exists() {
                self.read(crates, &joined(at, std::slice::from_ref(name)), &child);
            }
        }
        let file = file.strip_prefix(crates).unwrap().to_str().unwrap().to_owned();
        self.0.insert(at.to_owned(), Module::read(file, &tokens));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the imports between the files.
    pub(crate) fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (at, module) in &self.0 {
            for path in module.taken() {
                if let Some(other) = self.definition(at, path, 0).filter(|&other| other != module.file) {
                    let taken = imports.entry(module.file.clone()).or_default().entry(other.to_owned()).or_default();
                    taken.insert(path.join("::"));
                }
            }
        }
        imports
    }

    /// Returns the file that defines what `path` names in the module `at`. `None` for modules themselves, other crates
    /// and local names.
    fn definition(&self, at: &[String], path: &[String], steps: u32) -> Option<&str> {
        if steps == MAX_STEPS {
            return None;
        }
        let (mut here, mut rest) = match path[0].as_str() {
            "crate" => (Vec::new(), &path[1..]),
            _ => (at.to_owned(), path),
        };
        while let [name, after @ ..] = rest {
            let child = joined(&here, std::slice::from_ref(name));
            let module = &self.0[&here];
            match name.as_str() {
                "self" => {}
                "super" => drop(here.pop()),
                // A function may have its module's name; the last name is the function.
                _ if self.0.contains_key(&child) && (!after.is_empty() || module.declared(name).is_none()) => {
                    here = child
                }
                _ => {
                    let is_own = rest.len() < path.len();
                    return match module.declared(name) {
                        Some(used) => self.definition(&here, &joined(used, after), steps + 1),
                        None => is_own.then_some(module.file.as_str()),
                    };
                }
            }
            rest = after;
        }
        None
    }
}

fn joined(base: &[String], more: &[String]) -> Names {
    base.iter().chain(more).cloned().collect()
}
