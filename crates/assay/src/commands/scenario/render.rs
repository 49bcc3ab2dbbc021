//! `assay scenario render`: a scenario's picture, or a contact sheet of its worlds.

use std::path::Path;

use assay_model::Isolation;
use assay_scenario::Library;
use assay_worker::Installation;

use crate::exit::{Code, Failure, OrFail};

/// Pixels of a scenario's picture.
const THUMBNAIL: (u32, u32) = (512, 384);
/// Pixels of one picture on a contact sheet.
const CONTACT: (u32, u32) = (256, 192);

pub(super) fn run(installation: &Installation, id: &str, worlds: (u64, u32), out: &Path) -> Result<Code, Failure> {
    let library = Library::open(&installation.scenarios(), &installation.robots()).ours()?;
    let scenario = library.find(id).usage()?;
    let engine = super::super::machine::engine(installation, Some(1), Isolation::Namespaces)?;
    let size = if worlds.1 == 1 { THUMBNAIL } else { CONTACT };
    let picture = assay_worker::draw(&engine, &scenario, worlds, size).ours()?;
    std::fs::write(out, picture).usage()?;
    Ok(Code::Success)
}
