//! `assay model upload|list|remove`: the models of an account of a service.

mod bar;
mod list;
mod transfer;
mod upload;

pub(in crate::commands) use self::bar::bar;

use clap::Subcommand;
use serde_json::json;

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::ServiceArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Upload a large file that policies name by its digest, or continue an interrupted upload
    #[command(after_help = "Examples:
  ASSAY_KEY=... assay model upload act.safetensors --server https://assay.example.org
  assay model upload act.safetensors --key-file key.txt

If the upload is interrupted, run the same command again: it continues where the service has the file.
Exit codes: 0 the service has the file, 2 wrong usage or refused, 4 the service failed or did not respond.")]
    Upload(upload::UploadArgs),
    /// List the models of the key's account, newest first
    List {
        #[command(flatten)]
        service: ServiceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a model that no job needs, or an unfinished upload
    Remove {
        /// SHA-256 of the model, or id of the upload
        #[arg(value_name = "DIGEST")]
        digest: String,
        #[command(flatten)]
        service: ServiceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: &ModelCommand) -> Result<ExitStatus, Failure> {
    match command {
        ModelCommand::Upload(arguments) => upload::upload(arguments),
        ModelCommand::List { service, json } => list::list(service, *json),
        ModelCommand::Remove { digest, service, json } => remove(service, digest, *json),
    }
}

fn remove(service: &ServiceArgs, digest: &str, json: bool) -> Result<ExitStatus, Failure> {
    // Anything else would be another path of the service.
    if !digest.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        return Err(Failure::Usage(anyhow::anyhow!("{digest:?} is neither a SHA-256 nor the id of an upload")));
    }
    service.client()?.delete(&format!("/models/{digest}")).or_internal()?.success()?;
    super::stdout::print(&match json {
        true => serde_json::to_string_pretty(&json!({ "removed": digest })).or_internal()?,
        false => format!("removed {digest}"),
    });
    Ok(ExitStatus::Success)
}
