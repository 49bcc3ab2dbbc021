//! `assay model upload`: hashes a file, announces it, and sends what the service lacks.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use assay_model::{Sha256Digest, Sha256Writer, sanitise};
use clap::Args;
use serde_json::{Value, json};

use super::bar::{BarReader, bar};
use super::transfer::{UploadSource, transfer};
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::ServiceArgs;

/// Maximum length of a name, in bytes.
const NAME_BYTES: usize = 200;

#[derive(Debug, Args)]
pub(crate) struct UploadArgs {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    service: ServiceArgs,
    /// Name in lists [default: that of the file]
    #[arg(long)]
    name: Option<String>,
    /// Size of the pieces in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1024))]
    piece_mib: u64,
    /// Print the model as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn upload(arguments: &UploadArgs) -> Result<ExitStatus, Failure> {
    let client = arguments.service.client()?;
    let path = &arguments.file;
    let file = File::open(path).with_context(|| path.display().to_string()).or_usage()?;
    let about = file.metadata().with_context(|| path.display().to_string()).or_usage()?;
    if !about.is_file() || about.len() == 0 {
        return Err(Failure::Usage(anyhow!("{} is not a file with content", path.display())));
    }
    let sha256 = hash(&file, about.len()).with_context(|| path.display().to_string()).or_usage()?;
    let name = arguments.name.clone().unwrap_or_else(|| name_of(path));
    let announced = json!({ "sha256": sha256, "size_bytes": about.len(), "name": sanitise(&name, NAME_BYTES) });
    let model = client.post("/models", &announced).or_internal()?.success()?;
    let source = UploadSource { file, size_bytes: about.len(), piece_bytes: arguments.piece_mib << 20 };
    let model = transfer(&client, source, model)?;
    print(arguments, &model, sha256).map(|()| ExitStatus::Success)
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn hash(file: &File, bytes: u64) -> io::Result<Sha256Digest> {
    let (bar, mut hash) = (bar("hashing", bytes), Sha256Writer::default());
    let read = io::copy(&mut BarReader { source: file, bar: &bar }, &mut hash);
    bar.finish_and_clear();
    read.map(|_| hash.finish())
}

fn print(arguments: &UploadArgs, model: &Value, sha256: Sha256Digest) -> Result<(), Failure> {
    let text = if arguments.json {
        serde_json::to_string_pretty(model).or_internal()?
    } else {
        let (path, size) = (name_of(&arguments.file), &model["size_bytes"]);
        format!(
            "the service has {}; declare it in policy.toml:\n\n[[models]]\npath = {path:?}\nsha256 = \"{sha256}\"\n\
             size_bytes = {size}",
            arguments.file.display()
        )
    };
    super::super::stdout::print(&text);
    Ok(())
}
