//! `assay connect`: lets a service evaluate a policy that stays on this machine and connects to it.

mod arguments;
mod job;
mod local_policy;
mod results;
mod serving;

pub(crate) use self::arguments::ConnectArgs;
use self::job::ConnectedJob;
use self::local_policy::LocalPolicy;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(arguments: &ConnectArgs) -> Result<ExitStatus, Failure> {
    let cancel = cancel_on_signal().or_internal()?;
    let client = arguments.service.client()?;
    let output = arguments.out.as_deref().map(Output::check).transpose().or_usage()?;
    let installation = super::machine::installation()?;
    let engine = super::machine::engine(&installation, Some(1), arguments.isolation.accepted())?
        .forwarding(arguments.policy_server.guard())
        .or_internal()?;
    let work = engine.scratch("connect").or_internal()?;
    let mut policy = LocalPolicy::find(arguments, &engine, &work.path().join("policy"), &cancel)?;
    output.as_ref().map(Output::prepare).transpose().or_usage()?;
    let job = ConnectedJob::create(&client, arguments, policy.name())?;
    let finished = serving::serve(&job, &mut policy, &cancel).and_then(|()| job.wait(&cancel));
    let report = finished.and_then(|()| results::report(&job, arguments));
    if report.is_err() {
        // A job that has ended is not affected; otherwise it would wait for a policy that is gone.
        job.cancel();
        output.as_ref().map(Output::abandon).transpose().or_internal()?;
    }
    results::show(&job, arguments, &report?)
}
