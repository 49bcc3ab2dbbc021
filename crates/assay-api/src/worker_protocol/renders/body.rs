//! The body of a rendering: a line with the list of files, then the files in its order.

use std::path::Path;

use assay_model::lane::RenderPart;
use assay_model::{MAX_RENDERED_HEAD_BYTES, RenderedFileList, Sha256Writer, plain_complaint};
use tokio::io::AsyncWriteExt;

/// The reason why a body was not received.
pub(super) enum BodyFault {
    Body(String),
    Disk(std::io::Error),
}

impl From<std::io::Error> for BodyFault {
    fn from(error: std::io::Error) -> Self {
        Self::Disk(error)
    }
}

/// A body as far as it was received.
#[derive(Default)]
pub(super) struct RenderedBody {
    /// The first line, until it is complete.
    head: Vec<u8>,
    listed: Option<RenderedFileList>,
    /// Index of the file that is being received.
    index: usize,
    open: Option<(tokio::fs::File, Sha256Writer, u64)>,
}

impl RenderedBody {
    /// Receives the next bytes of the body; files are written to `folder`.
    pub(super) async fn add(&mut self, mut piece: &[u8], (part, folder): (RenderPart, &Path)) -> Result<(), BodyFault> {
        if self.listed.is_none() {
            let Some(end) = piece.iter().position(|byte| *byte == b'\n') else {
                self.head.extend_from_slice(piece);
                return if self.head.len() > MAX_RENDERED_HEAD_BYTES {
                    Err(BodyFault::Body("the list of files is too long".to_owned()))
                } else {
                    Ok(())
                };
            };
            self.head.extend_from_slice(&piece[..end]);
            self.listed = Some(listed(&self.head, part)?);
            piece = &piece[end + 1..];
        }
        while !piece.is_empty() {
            let Some(file) = self.listed.as_ref().and_then(|listed| listed.files.get(self.index)) else {
                return Err(BodyFault::Body("the body is longer than the listed files".to_owned()));
            };
            let (name, size) = (file.name.clone(), file.size_bytes);
            let (target, hash, left) = match &mut self.open {
                Some(open) => open,
                none => {
                    let target = tokio::fs::File::create_new(folder.join(name)).await?;
                    none.insert((target, Sha256Writer::default(), size))
                }
            };
            let count = usize::try_from(*left).unwrap_or(usize::MAX).min(piece.len());
            hash.update(&piece[..count]);
            target.write_all(&piece[..count]).await?;
            *left -= count as u64;
            piece = &piece[count..];
            if *left == 0 {
                self.close().await?;
            }
        }
        Ok(())
    }

    /// Ends the file that is being received.
    async fn close(&mut self) -> Result<(), BodyFault> {
        let Some((mut target, hash, _)) = self.open.take() else { return Ok(()) };
        target.flush().await?;
        let file = self.listed.as_ref().and_then(|listed| listed.files.get(self.index));
        let received = hash.finish();
        match file {
            Some(file) if file.sha256 == received => self.index += 1,
            _ => return Err(BodyFault::Body(format!("the SHA-256 of a file is {received}, not the listed one"))),
        }
        Ok(())
    }

    /// Returns the list at the end of the body, if all files were received.
    pub(super) async fn end(self) -> Result<RenderedFileList, BodyFault> {
        match self.listed {
            Some(listed) if self.open.is_none() && self.index == listed.files.len() => Ok(listed),
            _ => Err(BodyFault::Body("the body ends before the listed files".to_owned())),
        }
    }
}

/// Parses the first line of the body.
fn listed(head: &[u8], part: RenderPart) -> Result<RenderedFileList, BodyFault> {
    let listed: RenderedFileList = serde_json::from_slice(head)
        .map_err(|error| BodyFault::Body(format!("the list of files: {}", plain_complaint(&error.to_string()))))?;
    let found: Vec<&str> = listed.files.iter().map(|file| file.name.as_str()).collect();
    if (!found.is_empty() && !part.is_made_of(&found)) || listed.files.iter().any(|file| file.size_bytes == 0) {
        return Err(BodyFault::Body(format!("the files of this part are {}", part.files().join(", "))));
    }
    Ok(listed)
}

/// Receives a body in pieces, for fuzzing.
#[cfg(any(test, feature = "fuzzing"))]
pub(in super::super) async fn rendered_files(
    pieces: &[&[u8]],
    part: RenderPart,
    folder: &Path,
) -> Option<RenderedFileList> {
    let mut body = RenderedBody::default();
    for piece in pieces {
        body.add(piece, (part, folder)).await.ok()?;
    }
    body.end().await.ok()
}
