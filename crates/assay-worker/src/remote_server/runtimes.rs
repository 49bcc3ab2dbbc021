//! Runtimes of policies that are not installed here, from the server.

use std::fs;
use std::path::{Path, PathBuf};

use assay_model::{ErrorChain, PackedRuntime, RuntimeVersion};
use assay_policy::unpack_runtime;

use super::client::ProtocolClient;
use super::error::ServerCallError;

/// Maximum length of a packed runtime, in bytes.
const MAX_BYTES: u64 = 32 << 30;

/// Fetches a runtime into `folder`; `lease` is the path of a lease that needs it. Returns the runtime's folder, whose
/// files have the digest of the version.
pub(super) fn fetch(
    client: &ProtocolClient,
    lease: &str,
    version: &RuntimeVersion,
    folder: &Path,
) -> Result<PathBuf, ServerCallError> {
    let PackedRuntime { sha256, size_bytes } = client.get(&format!("{lease}/runtime"))?;
    let wrong = |why: String| ServerCallError::WrongFile(format!("the runtime {version}: {why}"));
    if size_bytes > MAX_BYTES {
        return Err(wrong(format!("its archive has more than {MAX_BYTES} bytes")));
    }
    tracing::info!(runtime = %version, size_bytes, "fetching a runtime that is not installed here");
    let (packed, unpacked) = (folder.join("packed"), folder.join("runtime"));
    client.fetch(&format!("{lease}/runtime/{sha256}"), (sha256, size_bytes), &packed)?;
    unpack_runtime(&packed, &unpacked, version).map_err(|error| wrong(ErrorChain(&error).to_string()))?;
    fs::remove_file(packed)?;
    Ok(unpacked)
}
