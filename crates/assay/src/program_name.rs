//! The name of this program in commands that are printed.

/// Returns `assay` if that name finds this program in `PATH`, or the script of the Python package that started it; else
/// the path of the one or the other.
pub(crate) fn program_name() -> String {
    const NAME: &str = "assay";
    const LAUNCHER: &str = "ASSAY_LAUNCHER";
    let program = std::env::var_os(LAUNCHER).map_or_else(std::env::current_exe, |launcher| Ok(launcher.into()));
    let Ok(program) = program.and_then(|path| path.canonicalize()) else { return NAME.to_owned() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path).map(|folder| folder.join(NAME)).find(|path| path.is_file());
    match first.and_then(|first| first.canonicalize().ok()) {
        Some(found) if found == program => NAME.to_owned(),
        _ => program.display().to_string(),
    }
}
