//! The self-test of a runtime: imports every package in the jail in which policies run.

use std::io;
use std::time::Duration;

use assay_jail::{Bind, Jail, JailSpec, Profile, SpawnError};
use assay_model::sanitise;

use super::library::Runtime;

const PROGRAM: &str = include_str!("../../../../python/runtime_check/import_all.py");
const PROGRAM_NAME: &str = "import_all.py";
/// Wall-clock time of one process.
const LIMIT: Duration = Duration::from_secs(300);
/// Address space beyond that of the runtime's own imports, in bytes: every package is imported into one process.
const ADDRESS_SPACE_BYTES: u64 = 8 << 30;
/// Maximum number of processes: each that dies is followed by another for the remaining modules.
const MAX_PROCESSES: usize = 20;
const MAX_MESSAGE_BYTES: usize = 400;

/// A module that cannot be imported in the jail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFailure {
    /// The module.
    pub module: String,
    /// The error, sanitised.
    pub error: String,
    /// A remedy, if one is known.
    pub advice: Option<&'static str>,
}

/// The outcome of a self-test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelfTest {
    /// Number of modules that were tried.
    pub tried: usize,
    /// Those that cannot be imported.
    pub failures: Vec<ImportFailure>,
}

/// An internal error of a self-test.
#[derive(Debug, thiserror::Error)]
pub enum SelfTestError {
    /// The jail could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// A file could not be written.
    #[error("could not write the self-test")]
    Io(#[from] io::Error),
}

/// Imports every public top-level module of the runtime's packages in `jail`, and the packages inside those of the
/// shipped runtimes. Takes up to a minute for large runtimes.
///
/// # Errors
/// [`SelfTestError`] if the jail does not work; modules that cannot be imported are part of the outcome.
pub fn self_test(jail: &Jail, runtime: &Runtime) -> Result<SelfTest, SelfTestError> {
    let folder = tempfile::tempdir()?;
    let open =
        |path: &std::path::Path| std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755));
    open(folder.path())?;
    std::fs::write(folder.path().join(PROGRAM_NAME), PROGRAM)?;
    open(&folder.path().join(PROGRAM_NAME))?;
    let mut outcome = SelfTest::default();
    let mut after = String::new();
    for _ in 0..MAX_PROCESSES {
        let mut spec = JailSpec::new(Profile::Policy, ["/py/bin/python3", "-B", "-P", "-s", "/runner/import_all.py"]);
        spec.argv.push(after.as_str().into());
        spec.binds = vec![Bind::read_only(&*runtime.root, "/"), Bind::read_only(folder.path(), "/runner")];
        spec.env = runtime.manifest.environment();
        spec.limits.address_space_bytes = ADDRESS_SPACE_BYTES + runtime.manifest.address_space_bytes;
        let mut child = jail.spawn(spec)?;
        let exit = child.wait_deadline(LIMIT).unwrap_or_else(|| child.kill());
        let output = String::from_utf8_lossy(&child.output_tail()).into_owned();
        let (last, is_done) = outcome.read(&output);
        let Some(last) = last.filter(|_| !is_done) else {
            if !is_done {
                outcome.failures.push(failure("(none)", &format!("the interpreter did not start: {output}")));
            }
            break;
        };
        if outcome.failures.last().is_none_or(|failure| failure.module != last) {
            let how = exit.signal.map_or_else(|| "ended the process".to_owned(), |n| format!("died of signal {n}"));
            outcome.failures.push(failure(&last, &how));
        }
        after = last;
    }
    Ok(outcome)
}

impl SelfTest {
    /// Adds the output of a process; returns the last module that it tried, and whether it came to its end.
    fn read(&mut self, output: &str) -> (Option<String>, bool) {
        let (mut last, mut is_done) = (None, false);
        for line in output.lines() {
            if let Some(module) = line.strip_prefix("> ") {
                self.tried += 1;
                last = Some(sanitise(module, MAX_MESSAGE_BYTES));
            } else if let (Some(error), Some(module)) = (line.strip_prefix("! "), &last) {
                self.failures.push(failure(module, error));
            } else if line == "." {
                is_done = true;
            }
        }
        (last, is_done)
    }
}

fn failure(module: &str, error: &str) -> ImportFailure {
    let advice = ADVICE.iter().find(|(part, _)| error.contains(part)).map(|(_, advice)| *advice);
    ImportFailure { module: module.to_owned(), error: sanitise(error, MAX_MESSAGE_BYTES), advice }
}

/// Parts of errors that people meet, and what to do about each.
const ADVICE: [(&str, &str); 10] = [
    ("cannot open shared object file", "install the library on this machine, then add the runtime again"),
    ("libcu", "install a build of the package for CPUs: jails have no GPU"),
    ("No module named", "install the package in the environment, then add the runtime again"),
    ("/proc", "jails have no /proc; policies that do not need this module are not affected"),
    ("home directory", "the module looks for a home: before the import, `os.environ.setdefault(\"HOME\", \"/\")`"),
    ("HOME", "the module looks for a home: before the import, `os.environ.setdefault(\"HOME\", \"/\")`"),
    (
        "Function not implemented",
        "the module starts a process, or opens a socket, when it is imported; policies cannot use it",
    ),
    ("temporary director", "the module writes a file when it is imported; policies can't write files"),
    ("Read-only file system", "the jail's files are read-only; set the package's cache folder to one that exists"),
    ("signal 31", "the module makes a system call that the jail refuses; policies cannot use it"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_becomes_failures_with_advice() {
        let mut outcome = SelfTest::default();
        let output = "> a\n> b\n! ImportError: libx.so.1: cannot open shared object file\n> c\nnoise\n> d\n";
        assert_eq!(outcome.read(output), (Some("d".to_owned()), false));
        assert_eq!((outcome.tried, outcome.failures.len()), (4, 1));
        assert_eq!(outcome.failures[0].module, "b");
        assert!(outcome.failures[0].advice.is_some_and(|advice| advice.contains("install the library")));
        assert_eq!(outcome.read("> e\n! OSError: other\n.\n"), (Some("e".to_owned()), true));
        assert_eq!((outcome.tried, outcome.failures[1].advice), (5, None));
        for (error, part) in [
            ("OSError: [Errno 38] Function not implemented", "starts a process"),
            ("RuntimeError: Could not determine home directory.", "looks for a home"),
            ("KeyError: 'HOME'", "looks for a home"),
            ("FileNotFoundError: [Errno 2] No usable temporary directory found in ['/tmp']", "writes a file"),
            ("OSError: [Errno 30] Read-only file system: '/x'", "read-only"),
            ("ModuleNotFoundError: No module named 'numpy.f2py'", "install the package"),
        ] {
            assert!(failure("m", error).advice.is_some_and(|advice| advice.contains(part)), "{error}");
        }
    }
}
