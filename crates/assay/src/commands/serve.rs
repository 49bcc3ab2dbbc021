//! `assay serve`.

use assay_policy::remote::Guard;

use crate::cli::Serve;
use crate::exit::{Code, Failure, OrFail};
use crate::{judge, service};

pub(crate) fn run(arguments: &Serve) -> Result<Code, Failure> {
    let installation = super::installation()?;
    let judge = judge::of(&arguments.judge)?;
    let guard = Guard::new(arguments.policy_networks.clone());
    let engine = super::engine(&installation, arguments.lanes, arguments.isolation.accepted())?;
    let engine = engine.guarded_by(guard).ours()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().ours()?;
    runtime.block_on(service::run(arguments, engine, judge)).ours()?;
    Ok(Code::Success)
}
