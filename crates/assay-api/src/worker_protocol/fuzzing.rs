//! Entry points for fuzzing: what workers on other hosts send is parsed before anything of it is checked.

use std::path::Path;

use assay_model::lane::RenderPart;
use assay_model::{AttemptNote, EpisodeResult, RenderedFileList};

use super::renders::rendered_files;
use super::reported::cleaned;

/// Receives the body of a rendering in pieces into `folder`; `None` if it is refused.
pub async fn receive_rendering(pieces: &[&[u8]], part: RenderPart, folder: &Path) -> Option<RenderedFileList> {
    rendered_files(pieces, part, folder).await
}

/// Returns a result as it is audited.
#[must_use]
pub fn receive_result(result: EpisodeResult, notes: &[AttemptNote]) -> EpisodeResult {
    cleaned(result, notes)
}
