//! `assay scenario render`: renders a picture of a scenario, or a contact sheet of its worlds.

use std::path::Path;

use assay_model::Isolation;
use assay_scenario::Library;
use assay_worker::Installation;

use crate::exit::{ExitStatus, Failure, OrFail};

/// Size of a scenario's picture, in pixels.
const THUMBNAIL: (u32, u32) = (512, 384);
/// Size of one picture on a contact sheet, in pixels.
const CONTACT: (u32, u32) = (256, 192);

pub(super) fn run(
    installation: &Installation,
    id: &str,
    worlds: (u64, u32),
    out: &Path,
) -> Result<ExitStatus, Failure> {
    let library = Library::open(&installation.scenarios(), &installation.robots()).or_internal()?;
    let scenario = library.find(id).or_usage()?;
    let engine = super::super::machine::engine(installation, Some(1), Isolation::Namespaces)?;
    let size = if worlds.1 == 1 { THUMBNAIL } else { CONTACT };
    let picture = assay_worker::draw(&engine, &scenario, worlds, size).or_internal()?;
    std::fs::write(out, picture).or_usage()?;
    Ok(ExitStatus::Success)
}
