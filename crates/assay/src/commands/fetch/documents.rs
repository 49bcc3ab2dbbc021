//! Downloads what a job has besides its evidence, as an archive: report, statement, page, scenario and policy.

use std::fs::File;
use std::io::{Seek, SeekFrom};

use anyhow::Context;
use assay_model::JobId;

use super::place::{JobResource, MAX_DOCUMENTS_BYTES};
use crate::exit::{Failure, OrFail};
use crate::service_client::{Download, ServiceClient};

/// Downloads the archive of a verification, or else of a submission, without the episodes.
pub(super) fn download(client: &ServiceClient, job: JobId, closing: bool) -> Result<(JobResource, File), Failure> {
    let mut refused = None;
    // The rerun is one of a submission.
    let names = if closing { &["submissions"][..] } else { &["verify", "submissions"] };
    for name in names {
        let resource = JobResource { path: format!("/{name}/{job}"), closing };
        let mut file = tempfile::tempfile().context("a temporary file").or_internal()?;
        let path = format!("{}/archive{}", resource.path, resource.query("evidence=false"));
        match client.download(&path, MAX_DOCUMENTS_BYTES, &mut file)? {
            Download::Complete => {
                file.seek(SeekFrom::Start(0)).context("a temporary file").or_internal()?;
                return Ok((resource, file));
            }
            Download::Refused(response) if response.status == 404 => refused = Some(response.failure()),
            Download::Refused(response) => return Err(response.failure()),
        }
    }
    Err(refused.unwrap_or(Failure::Interrupted))
}
