//! `assay serve`.

use crate::cli::Serve;
use crate::exit::{Code, Failure, OrFail};
use crate::service;

pub(crate) fn run(arguments: &Serve) -> Result<Code, Failure> {
    let installation = super::installation()?;
    let engine = super::engine(&installation, arguments.lanes, arguments.isolation.accepted())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().ours()?;
    runtime.block_on(service::run(arguments, engine)).ours()?;
    Ok(Code::Success)
}
