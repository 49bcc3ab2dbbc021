//! `assay runtime add`: builds a runtime from packages that exist.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use assay_model::RuntimeName;
use assay_policy::{InstalledRuntime, RuntimeLibrary, SelfTest, self_test};
use assay_worker::Installation;
use clap::Args;

use super::check::{jail, text};
use super::place::PlaceArgs;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::printing::complain;

/// Number of digits of its digest in the name of an earlier version's folder.
const FOLDER_DIGITS: usize = 12;

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Its name: a-z, 0-9, '_' and '-'
    name: RuntimeName,
    /// The virtual environment or conda prefix to copy
    #[arg(long, value_name = "DIR")]
    from_venv: Option<PathBuf>,
    /// The packages to install, as for pip; wheels only [default without --from-venv: the list of this name that assay
    /// has, for onnx and lerobot]
    #[arg(long, value_name = "FILE", conflicts_with = "from_venv")]
    requirements: Option<PathBuf>,
    /// The interpreter for --requirements
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) fn add(arguments: &AddArgs) -> Result<ExitStatus, Failure> {
    let installation = arguments.place.installation()?;
    let name = &arguments.name;
    let folder = arguments.place.folder()?;
    if installation.shipped_runtimes().join(name.as_str()).exists() {
        return Err(Failure::Usage(anyhow!("{name} is a runtime of this installation; choose another name")));
    }
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string()).or_usage()?;
    let fresh = tempfile::Builder::new().prefix(&format!(".{name}-")).tempdir_in(&folder).or_internal()?;
    let root = fresh.path().join(name.as_str());
    build(arguments, &installation, &root)?;
    let (built, outcome) = tested(&installation.runtimes(), &root)?;
    let kept = install(&folder, &built)?;
    let manifest = &built.manifest;
    let mut lines =
        format!("{}\nadded {}, {} MB", text(&outcome).trim_end(), manifest.version(), manifest.size_bytes / 1_000_000);
    if let Some(kept) = kept {
        lines.push_str(&format!("\nthe earlier version is kept in {}", kept.display()));
    }
    crate::commands::stdout::print(&lines);
    Ok(ExitStatus::Success)
}

/// Returns the list of packages to install; `None` if an environment is copied.
fn requirements(arguments: &AddArgs, lists: &Path) -> Result<Option<PathBuf>, Failure> {
    match (&arguments.requirements, &arguments.from_venv) {
        (Some(given), _) if !given.is_file() => {
            Err(Failure::Usage(anyhow!("--requirements {}: no such file", given.display())))
        }
        (Some(given), _) => Ok(Some(given.clone())),
        (None, Some(_)) => Ok(None),
        (None, None) => {
            let own = lists.join(format!("{}.txt", arguments.name));
            let missing =
                || anyhow!("assay has no list of packages for {}: give --from-venv or --requirements", arguments.name);
            if own.is_file() { Ok(Some(own)) } else { Err(Failure::Usage(missing())) }
        }
    }
}

/// Runs the program that builds runtimes, with the interpreter that the runtime is to have.
fn build(arguments: &AddArgs, installation: &Installation, root: &Path) -> Result<(), Failure> {
    let requirements = requirements(arguments, &installation.runtime_lists())?;
    let interpreter = match &arguments.from_venv {
        Some(venv) => venv.join("bin/python3"),
        None => arguments.python.clone(),
    };
    if let Some(venv) = arguments.from_venv.as_ref().filter(|_| !interpreter.exists()) {
        let what =
            anyhow!("--from-venv {}: there is no bin/python3; give the folder of an environment", venv.display());
        return Err(Failure::Usage(what));
    }
    let mut command = Command::new(&interpreter);
    command.arg("-I").arg(installation.runtime_builder()).arg(arguments.name.as_str()).arg(root);
    if let Some(requirements) = &requirements {
        command.arg("--requirements").arg(requirements);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", interpreter.display()))
        .or_usage()?;
    // The last line is for programs.
    let lines = child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok);
    lines.filter(|line| !line.starts_with('{')).for_each(|line| complain!("assay: {line}"));
    let status = child.wait().or_internal()?;
    if !status.success() {
        return Err(Failure::Usage(anyhow!("the runtime could not be built; see the messages above")));
    }
    Ok(())
}

/// Tests a new runtime. One whose own imports fail is of no use.
fn tested(library: &RuntimeLibrary, root: &Path) -> Result<(InstalledRuntime, SelfTest), Failure> {
    complain!("assay: importing every package in the jail");
    let built = InstalledRuntime::read(root).or_internal()?;
    let outcome = self_test(&jail()?, &library.open(built.clone()).or_internal()?).or_internal()?;
    let needed = |module: &str| module == "(none)" || built.manifest.imports.iter().any(|name| name == module);
    if let Some(failure) = outcome.failures.iter().find(|failure| needed(&failure.module)) {
        let advice = failure.advice.map_or_else(String::new, |advice| format!("; {advice}"));
        return Err(Failure::Usage(anyhow!("{}: {}{advice}", failure.module, failure.error)));
    }
    Ok((built, outcome))
}

/// Moves a new runtime to its place; returns the folder to which an earlier version was moved.
fn install(folder: &Path, built: &InstalledRuntime) -> Result<Option<PathBuf>, Failure> {
    let target = folder.join(built.manifest.name.as_str());
    let moved = match InstalledRuntime::read(&target) {
        Ok(old) if old.manifest.sha256 == built.manifest.sha256 => {
            std::fs::remove_dir_all(&target).or_internal()?;
            None
        }
        Ok(old) => {
            let kept = folder.join(format!("{}-{:.FOLDER_DIGITS$}", old.manifest.name, old.manifest.sha256));
            if kept.exists() {
                std::fs::remove_dir_all(&kept).or_internal()?;
            }
            std::fs::rename(&target, &kept).or_internal()?;
            Some(kept)
        }
        Err(_) if target.exists() => {
            return Err(Failure::Usage(anyhow!("{} exists and is not a runtime; move it away", target.display())));
        }
        Err(_) => None,
    };
    std::fs::rename(&built.folder, &target).or_internal()?;
    Ok(moved)
}
