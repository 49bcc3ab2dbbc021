//! The library of scenarios: a folder that contains a folder per scenario, `collections.toml`, and `clips/` with videos
//! of known-answer policies, which are not part of a scenario's digest.

use std::fs;
use std::path::{Path, PathBuf};

use assay_model::ScenarioId;
use serde::Deserialize;

use crate::{Scenario, ScenarioClip, ScenarioError, closest};

/// Name of the file with the collections, in the folder of scenarios.
const COLLECTIONS: &str = "collections.toml";
/// Name of the folder with the clips, in the folder of scenarios: a folder per scenario.
const CLIPS: &str = "clips";

/// A named set of scenarios.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// Id of the collection.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Description in one sentence.
    pub description: String,
    /// Ids of its scenarios.
    pub scenarios: Vec<String>,
}

/// The contents of `collections.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Collections {
    #[serde(default)]
    collection: Vec<Collection>,
}

/// All scenarios of an installation.
#[derive(Debug, Clone)]
pub struct Library {
    scenarios: Vec<Scenario>,
    collections: Vec<Collection>,
    robots: PathBuf,
    clips: PathBuf,
}

/// An error while opening the library or finding a scenario.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The library's folder cannot be read.
    #[error("{}: can't be read", path.display())]
    Read {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A scenario of the library is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// `collections.toml` is invalid.
    #[error("{}: {problem}", path.display())]
    Collections {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// There is no such scenario.
    #[error("there is no scenario {name:?}{}", suggest(.name, .known))]
    Unknown {
        /// The requested name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
}

fn suggest(name: &str, known: &[String]) -> String {
    let meant = closest(name, known.iter().map(String::as_str));
    match (meant, known.join(", ")) {
        (Some(meant), known) => format!("; did you mean {meant}? Known scenarios: {known}"),
        (None, known) if known.is_empty() => String::new(),
        (None, known) => format!("; known scenarios: {known}"),
    }
}

impl Library {
    /// Reads every scenario in `scenarios`, with robots from `robots`.
    ///
    /// # Errors
    /// The first invalid scenario.
    pub fn open(scenarios: &Path, robots: &Path) -> Result<Self, LibraryError> {
        let folders = folders(scenarios)?;
        let loaded = folders.iter().map(|path| Scenario::load_named(path, robots)).collect::<Result<Vec<_>, _>>()?;
        let collections = read_collections(&scenarios.join(COLLECTIONS), &loaded)?;
        Ok(Self { scenarios: loaded, collections, robots: robots.to_owned(), clips: scenarios.join(CLIPS) })
    }

    /// Returns the curated sets of scenarios, in the order of the file.
    #[must_use]
    pub fn collections(&self) -> &[Collection] {
        &self.collections
    }

    /// Returns the scenarios, sorted by id.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// Returns the folder of robots.
    #[must_use]
    pub fn robots(&self) -> &Path {
        &self.robots
    }

    /// Returns the videos of a scenario's known-answer policies that were made with this version of it.
    ///
    /// # Errors
    /// [`LibraryError::Read`]: the report of one cannot be read.
    pub fn clips(&self, scenario: &Scenario) -> Result<Vec<ScenarioClip>, LibraryError> {
        let folder = self.clips.join(scenario.id.as_str());
        let mut clips = ScenarioClip::all(&folder).map_err(|source| LibraryError::Read { path: folder, source })?;
        clips.retain(|clip| clip.report.scenario_digest == scenario.digest);
        Ok(clips)
    }

    /// Returns the scenario with that id.
    ///
    /// # Errors
    /// [`LibraryError::Unknown`], which lists the existing scenarios.
    pub fn get(&self, id: &ScenarioId) -> Result<&Scenario, LibraryError> {
        self.scenarios.iter().find(|s| s.id == *id).ok_or_else(|| self.unknown(id.as_str()))
    }

    /// Returns the scenario that a user names by its id, or by the path of its folder.
    ///
    /// # Errors
    /// [`LibraryError`]: unknown id, or a folder that is not a scenario.
    pub fn find(&self, name: &str) -> Result<Scenario, LibraryError> {
        if let Some(scenario) = self.scenarios.iter().find(|s| s.id.as_str() == name) {
            return Ok(scenario.clone());
        }
        let path = Path::new(name);
        if path.is_dir() {
            return Ok(Scenario::load_named(&whole(path)?, &self.robots)?);
        }
        Err(self.unknown(name))
    }

    /// Returns the folder that a user names, by the id of a scenario in `scenarios` or by a path, regardless of its
    /// contents.
    ///
    /// # Errors
    /// [`LibraryError::Unknown`], which lists the existing scenarios; or `scenarios` cannot be read.
    pub fn folder(scenarios: &Path, name: &str) -> Result<PathBuf, LibraryError> {
        let folders = folders(scenarios)?;
        if let Some(folder) = folders.iter().find(|folder| folder.file_name().is_some_and(|id| id == name)) {
            return Ok(folder.clone());
        }
        if Path::new(name).is_dir() {
            return whole(Path::new(name));
        }
        let id = |folder: &PathBuf| folder.file_name().map(|id| id.to_string_lossy().into_owned());
        Err(LibraryError::Unknown { name: name.to_owned(), known: folders.iter().filter_map(id).collect() })
    }

    fn unknown(&self, name: &str) -> LibraryError {
        LibraryError::Unknown {
            name: name.to_owned(),
            known: self.scenarios.iter().map(|s| s.id.to_string()).collect(),
        }
    }
}

/// Returns the folder's absolute path, since lanes have a different working directory.
fn whole(folder: &Path) -> Result<PathBuf, LibraryError> {
    folder.canonicalize().map_err(|source| LibraryError::Read { path: folder.to_owned(), source })
}

/// Returns the folders of scenarios in `scenarios`, sorted by name.
fn folders(scenarios: &Path) -> Result<Vec<PathBuf>, LibraryError> {
    let read = |source| LibraryError::Read { path: scenarios.to_owned(), source };
    let mut folders: Vec<PathBuf> = fs::read_dir(scenarios)
        .map_err(read)?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.join("scenario.toml").is_file())
        .collect();
    folders.sort();
    Ok(folders)
}

/// Reads the collections, each with a unique id and existing scenarios. Returns none if there is no file.
fn read_collections(path: &Path, scenarios: &[Scenario]) -> Result<Vec<Collection>, LibraryError> {
    let fail = |problem: String| LibraryError::Collections { path: path.to_owned(), problem };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(LibraryError::Read { path: path.to_owned(), source }),
    };
    let Collections { collection: all } = toml::from_str(&text).map_err(|e| fail(e.to_string()))?;
    for (i, one) in all.iter().enumerate() {
        if one.id.is_empty() || all[..i].iter().any(|other| other.id == one.id) {
            return Err(fail(format!("collection[{i}].id: is empty or used twice; rename it")));
        }
        if let Some(unknown) = one.scenarios.iter().find(|id| !scenarios.iter().any(|s| s.id.as_str() == id.as_str())) {
            return Err(fail(format!("collection[{i}].scenarios: there is no scenario {unknown:?}")));
        }
    }
    Ok(all)
}
