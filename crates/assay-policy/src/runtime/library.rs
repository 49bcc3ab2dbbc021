//! The installed runtimes.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use assay_jail::{JailPath, stage_lasting};
use assay_model::{RuntimeName, RuntimeVersion};

use super::declaration::PolicyDeclaration;
use super::error::{NoRuntime, Offered, RuntimeError};
use super::manifest::RuntimeManifest;

const INTERPRETER: &str = "py/bin/python3";
pub(super) const MANIFEST: &str = "manifest.json";
/// Maximum number of packages named in a list of what is offered.
const SHOWN_PACKAGES: usize = 12;

/// A runtime that jails can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// The folder to mount as the jail's root.
    pub root: JailPath,
    /// Its manifest.
    pub manifest: RuntimeManifest,
}

/// A runtime as it is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledRuntime {
    /// Its folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: RuntimeManifest,
    /// True if new jobs can select it: its folder has its name. Earlier versions have other folders.
    pub current: bool,
}

/// Folders with runtimes. They are listed at every call, because operators add and remove runtimes at any time; a
/// manifest is read again when its file has changed.
#[derive(Debug, Clone)]
pub struct RuntimeLibrary {
    folders: Vec<PathBuf>,
    cache_root: PathBuf,
    known: Arc<Mutex<HashMap<PathBuf, KnownRuntime>>>,
}

/// A runtime whose manifest was read.
#[derive(Debug)]
struct KnownRuntime {
    /// Identifies the content of the manifest.
    stamp: ManifestStamp,
    runtime: InstalledRuntime,
}

/// Properties of a manifest's file that change with its content: inode, size, and times of change in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ManifestStamp(u64, u64, (i64, i64), (i64, i64));

impl InstalledRuntime {
    /// Reads the runtime in `folder`.
    ///
    /// # Errors
    /// [`RuntimeError::Incomplete`] if there is none, or its manifest is invalid.
    pub fn read(folder: &Path) -> Result<Self, RuntimeError> {
        let incomplete = |why: String| RuntimeError::Incomplete { folder: folder.to_owned(), why };
        let file = folder.join(MANIFEST);
        let text = fs::read_to_string(&file).map_err(|e| incomplete(format!("{MANIFEST}: {e}")))?;
        let manifest: RuntimeManifest =
            serde_json::from_str(&text).map_err(|e| incomplete(format!("{MANIFEST}: {e}")))?;
        if !folder.join(INTERPRETER).is_file() {
            return Err(incomplete(format!("{INTERPRETER} is missing")));
        }
        let current = folder.file_name().is_some_and(|name| name == manifest.name.as_str());
        Ok(Self { folder: folder.to_owned(), manifest, current })
    }

    fn is_version(&self, version: &RuntimeVersion) -> bool {
        self.manifest.name == version.name && self.manifest.sha256 == version.sha256
    }

    /// Returns its name, its Python and its packages, in words.
    fn in_words(&self) -> String {
        let RuntimeManifest { name, python, packages, .. } = &self.manifest;
        let shown = packages.iter().take(SHOWN_PACKAGES).map(|(name, version)| format!("{name} {version}"));
        let mut shown: Vec<String> = shown.collect();
        if packages.len() > SHOWN_PACKAGES {
            shown.push(format!("{} more", packages.len() - SHOWN_PACKAGES));
        }
        format!("{name} (Python {python}, {})", shown.join(", "))
    }
}

impl ManifestStamp {
    fn of(file: &Metadata) -> Self {
        Self(file.ino(), file.size(), (file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec()))
    }
}

impl RuntimeLibrary {
    /// Creates the library of the runtimes in `folders`, earlier folders first. Copies for the jail's user are made
    /// below `cache_root`.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>, cache_root: PathBuf) -> Self {
        Self { folders, cache_root, known: Arc::default() }
    }

    /// Returns the runtime in `folder`, if it is complete.
    fn read(&self, folder: &Path) -> Option<InstalledRuntime> {
        let stamp = ManifestStamp::of(&fs::metadata(folder.join(MANIFEST)).ok()?);
        let known = |known: &HashMap<PathBuf, KnownRuntime>| {
            known.get(folder).filter(|known| known.stamp == stamp).map(|known| known.runtime.clone())
        };
        if let Some(runtime) = known(&self.known.lock().unwrap_or_else(PoisonError::into_inner)) {
            return folder.join(INTERPRETER).is_file().then_some(runtime);
        }
        let runtime = InstalledRuntime::read(folder).ok()?;
        let read = KnownRuntime { stamp, runtime: runtime.clone() };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned(), read);
        Some(runtime)
    }

    /// Returns all installed runtimes, sorted by name, the current version of each first. Folders that are not complete
    /// runtimes are left out.
    #[must_use]
    pub fn list(&self) -> Vec<InstalledRuntime> {
        let mut found: Vec<InstalledRuntime> = Vec::new();
        let entries = self.folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        // The name of a runtime that is being built begins with a dot.
        let folders = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
        for mut runtime in folders.filter_map(|entry| self.read(&entry.path())) {
            let name = &runtime.manifest.name;
            if found.iter().any(|other| other.is_version(&runtime.manifest.version())) {
                continue;
            }
            runtime.current &= !found.iter().any(|other| other.current && other.manifest.name == *name);
            found.push(runtime);
        }
        found.sort_by(|a, b| (&a.manifest.name, !a.current).cmp(&(&b.manifest.name, !b.current)));
        found
    }

    /// Returns the current version of the runtime `name`.
    ///
    /// # Errors
    /// [`RuntimeError::Missing`].
    pub fn current(&self, name: &RuntimeName) -> Result<InstalledRuntime, RuntimeError> {
        let found = self.list().into_iter().find(|runtime| runtime.current && runtime.manifest.name == *name);
        found.ok_or_else(|| RuntimeError::Missing { name: name.clone(), folders: self.folders.clone() })
    }

    /// Returns the current version of the runtime `base`.
    ///
    /// # Errors
    /// [`RuntimeError::Missing`].
    pub fn base(&self) -> Result<InstalledRuntime, RuntimeError> {
        self.current(&RuntimeName::base())
    }

    /// Returns a version of a runtime, current or not.
    ///
    /// # Errors
    /// [`RuntimeError::OtherVersion`] if it is not installed.
    pub fn version(&self, version: &RuntimeVersion) -> Result<InstalledRuntime, RuntimeError> {
        let (mut installed, mut others) = (None, Vec::new());
        for runtime in self.list() {
            if runtime.is_version(version) {
                installed = Some(runtime);
            } else if runtime.manifest.name == version.name {
                others.push(runtime.manifest.version());
            }
        }
        installed.ok_or_else(|| RuntimeError::OtherVersion { version: version.clone(), installed: others })
    }

    /// Makes a runtime readable for jails.
    ///
    /// # Errors
    /// [`RuntimeError::Stage`].
    pub fn open(&self, runtime: InstalledRuntime) -> Result<Runtime, RuntimeError> {
        let folder = runtime.folder.canonicalize().unwrap_or(runtime.folder);
        Ok(Runtime { root: stage_lasting(&folder, &self.cache_root)?, manifest: runtime.manifest })
    }

    /// Chooses the runtime for a policy: the one that it names, otherwise `base` if that suffices, otherwise the
    /// smallest that does.
    ///
    /// # Errors
    /// [`NoRuntime`], for the policy's author.
    pub fn choose(&self, declaration: &PolicyDeclaration) -> Result<InstalledRuntime, NoRuntime> {
        let offered: Vec<_> = self.list().into_iter().filter(|runtime| runtime.current).collect();
        let in_words = || Offered(offered.iter().map(InstalledRuntime::in_words).collect());
        let wanted = &declaration.runtime;
        let is_wanted = |name: &RuntimeName| wanted.as_ref().is_none_or(|wanted| wanted == name);
        let mut candidates: Vec<_> = offered.iter().filter(|runtime| is_wanted(&runtime.manifest.name)).collect();
        if let Some(name) = wanted
            && candidates.is_empty()
        {
            return Err(NoRuntime::Unknown { name: name.clone(), offered: in_words() });
        }
        candidates.sort_by_key(|one| (one.manifest.name != RuntimeName::base(), one.manifest.size_bytes));
        let mut missing: Option<Vec<String>> = None;
        for runtime in candidates {
            let unmet = declaration.unmet_in(&runtime.manifest);
            if unmet.is_empty() {
                return Ok(runtime.clone());
            }
            if missing.as_ref().is_none_or(|fewest| unmet.len() < fewest.len()) {
                missing = Some(unmet);
            }
        }
        let missing = missing.unwrap_or_else(|| vec!["an interpreter".to_owned()]);
        Err(NoRuntime::Unsatisfied { missing, offered: in_words() })
    }
}
