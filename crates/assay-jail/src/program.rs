//! Prepares a native program for a jail: the program and the shared libraries that it needs, and nothing else of the
//! host.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Bind, JailPath, StageError, stage_lasting};

/// The dynamic loader that an x86-64 program names as its interpreter.
pub(crate) const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// Folder of the libraries in the jail, separate because with `Profile::Render` the host's libraries are visible too.
const LIBRARY_FOLDER: &str = "/assay/lib";

/// A native program with its libraries, ready to be added to a [`crate::JailSpec`].
#[derive(Debug, Clone)]
pub struct Program {
    /// Its path in the jail.
    pub path: PathBuf,
    /// The program, its libraries, the loader.
    pub binds: Vec<Bind>,
    /// Folders that the loader searches for libraries. Without /proc it can't resolve `$ORIGIN`.
    pub env: Vec<(String, String)>,
    /// The files to which the binds refer, which are not removed before this value is dropped.
    pub files: Vec<JailPath>,
}

/// The reason why a program can't be prepared for a jail.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The loader could not be run.
    #[error("could not run the dynamic loader {LOADER}")]
    Loader(#[source] std::io::Error),
    /// The loader refused the program.
    #[error("could not load {program}: {message}")]
    Refused {
        /// The program.
        program: PathBuf,
        /// The loader's message.
        message: String,
    },
    /// A copy for the jail's user could not be made.
    #[error("could not make the program readable for jails")]
    Stage(#[from] StageError),
}

/// Returns the host paths of the shared libraries that `binary` loads at start, the loader last. `libraries` is
/// searched before the places that the system and the program name. Only for trusted programs, because the loader is
/// run on them.
///
/// # Errors
/// [`ProgramError`] if the loader or a library is missing.
pub fn library_closure(binary: &Path, libraries: Option<&Path>) -> Result<Vec<PathBuf>, ProgramError> {
    let mut loader = Command::new(LOADER);
    if let Some(folder) = libraries {
        loader.arg("--library-path").arg(folder);
    }
    let listed = loader.arg("--list").arg(binary).env_clear().output().map_err(ProgramError::Loader)?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let missing = text.lines().find(|line| line.contains("not found"));
    if !listed.status.success() || missing.is_some() {
        let message = missing.map_or_else(|| String::from_utf8_lossy(&listed.stderr).into_owned(), str::to_owned);
        return Err(ProgramError::Refused { program: binary.to_owned(), message: message.trim().to_owned() });
    }
    let mut libraries: Vec<PathBuf> = text.lines().filter_map(library_of_line).collect();
    libraries.retain(|path| path != Path::new(LOADER));
    libraries.push(LOADER.into());
    Ok(libraries)
}

/// Parses a line `name => /path (0x...)` or `/path (0x...)`; the kernel's vdso has no path.
fn library_of_line(line: &str) -> Option<PathBuf> {
    let target = line.split(" => ").last()?.trim();
    let path = target.split(" (0x").next()?;
    path.starts_with('/').then(|| path.into())
}

/// Prepares `binary` to run in a jail as `inside`, with its libraries found as in [`library_closure`]. Files that the
/// jail's user can't reach are copied below `cache_root` first.
///
/// # Errors
/// [`ProgramError`] if a library is missing or can't be copied.
pub fn native_program(
    binary: &Path,
    libraries: Option<&Path>,
    inside: &Path,
    cache_root: &Path,
) -> Result<Program, ProgramError> {
    let program = stage_lasting(binary, cache_root)?;
    let mut binds = vec![Bind::read_only(&*program, inside)];
    let mut files = vec![program];
    for library in library_closure(binary, libraries)? {
        let target = match library.file_name() {
            Some(name) if library != Path::new(LOADER) => Path::new(LIBRARY_FOLDER).join(name),
            _ => library.clone(),
        };
        let real = library.canonicalize().unwrap_or_else(|_| library.clone());
        let library = stage_lasting(&real, cache_root)?;
        binds.push(Bind::read_only(&*library, target));
        files.push(library);
    }
    let env = vec![("LD_LIBRARY_PATH".to_owned(), LIBRARY_FOLDER.to_owned())];
    Ok(Program { path: inside.to_owned(), binds, env, files })
}
