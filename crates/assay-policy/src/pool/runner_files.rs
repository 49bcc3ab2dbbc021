//! The files of the runner, which exchanges frames for the policy. They are part of this program, so that their
//! versions always match.

use std::io::Error;
use std::path::Path;

use super::open_files::{make_open, write_open};

const RUNNER: (&str, &str) = ("runner.py", include_str!("../../../../python/runner/runner.py"));
/// The part of it that forks.
const FORK_SERVER: (&str, &str) = ("fork_server.py", include_str!("../../../../python/runner/fork_server.py"));
/// The package of the adapters.
const ADAPTERS: &str = "assay_adapters";

/// Lists modules of the package with their text.
macro_rules! modules {
    ($($name:literal),+) => {
        [$(($name, include_str!(concat!("../../../../python/runner/assay_adapters/", $name)))),+]
    };
}

const MODULES: [(&str, &str); 7] = modules!(
    "__init__.py",
    "acting.py",
    "errors.py",
    "lerobot_checkpoint.py",
    "observing.py",
    "onnx_model.py",
    "statistics.py"
);

/// Writes the runner, and the adapters of policies without code, to the new folder `to`.
pub(super) fn write_runner(to: &Path) -> Result<(), Error> {
    make_open(to)?;
    write_open(&to.join(RUNNER.0), RUNNER.1)?;
    let adapters = to.join(ADAPTERS);
    make_open(&adapters)?;
    MODULES.iter().try_for_each(|(name, text)| write_open(&adapters.join(name), text))
}

/// Writes the runner of a fork server to the new folder `to`.
pub(super) fn write_fork_server(to: &Path) -> Result<(), Error> {
    write_runner(to)?;
    write_open(&to.join(FORK_SERVER.0), FORK_SERVER.1)
}
