//! Options of the commands that run a policy whose models are not in its folder.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_model::{DeclaredModel, Sha256Digest};
use assay_policy::{PolicyHome, PolicyModel};
use assay_worker::sha256_of;
use clap::Args;

use super::PathWord;
use crate::exit::{Failure, OrFail};

/// Mode of a folder that jails can enter, and of a file that they can read.
const OPEN: (u32, u32) = (0o755, 0o444);

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// A model that policy.toml declares and that is not in the policy's folder; may be repeated
    #[arg(long = "model", value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl ModelArgs {
    /// Returns the words of a command with the same options.
    pub(crate) fn words(&self, path: PathWord<'_>) -> Vec<String> {
        self.files.iter().flat_map(|file| ["--model".to_owned(), path(file)]).collect()
    }

    /// Returns the home of a policy that declares `models` besides those in its folder. Copies that jails can read are
    /// placed into `folder`, where needed.
    pub(crate) fn home(&self, models: &[DeclaredModel], folder: &Path) -> Result<PolicyHome, Failure> {
        let files = self.files.iter().map(|file| Ok((sha256_of(file)?, file.as_path())));
        let files: Vec<(Sha256Digest, &Path)> = files.collect::<io::Result<_>>().context("--model").or_usage()?;
        if let Some((sha256, file)) =
            files.iter().find(|(sha256, _)| models.iter().all(|model| model.sha256 != *sha256))
        {
            let error = anyhow!("the policy declares no model with the SHA-256 {sha256}, or has it in its folder");
            return Err(Failure::Usage(error.context(format!("--model {}", file.display()))));
        }
        let found = models.iter().map(|model| {
            let file = files.iter().find(|(sha256, _)| *sha256 == model.sha256).ok_or_else(|| missing(model));
            let (_, file) = file.or_usage()?;
            let given = || format!("--model {}", file.display());
            let bytes = fs::metadata(file).with_context(given).or_usage()?.len();
            if let Some(declared) = model.size_bytes.filter(|declared| *declared != bytes) {
                let error = anyhow!("has {bytes} bytes, but policy.toml declares {declared}");
                return Err(Failure::Usage(error.context(given())));
            }
            let file = readable(file, folder).with_context(given).or_internal()?;
            PolicyModel::new(&model.path, &file).context("--model").or_usage()
        });
        Ok(PolicyHome::with_models(found.collect::<Result<_, _>>()?))
    }
}

fn missing(model: &DeclaredModel) -> anyhow::Error {
    anyhow!(
        "policy.toml declares the model {} (SHA-256 {}), which is not in the folder; give the file with --model",
        model.path,
        model.sha256
    )
}

/// Returns the file, or a copy of it that jails can read.
fn readable(file: &Path, folder: &Path) -> io::Result<PathBuf> {
    let file = file.canonicalize()?;
    if assay_jail::check_reachable(&file).is_ok() {
        return Ok(file);
    }
    let (folder_mode, file_mode) = OPEN;
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(folder_mode))?;
    let copy = folder.join(fs::read_dir(folder)?.count().to_string());
    fs::copy(file, &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(file_mode))?;
    Ok(copy)
}
