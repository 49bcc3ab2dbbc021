//! Connects the policy to the service, again whenever the connection is lost, until the job needs it no longer.

use std::time::{Duration, Instant};

use assay_policy::remote::{AddressGuard, LinkEnd, ServerEndpoint, ServiceLink, ServiceLinkError};
use assay_worker::Cancel;

use super::job::{ConnectedJob, ConnectionOffer, pause};
use super::local_policy::LocalPolicy;
use crate::exit::Failure;
use crate::printing::complain;

/// Pause before another attempt to connect.
const PAUSE: Duration = Duration::from_secs(2);
/// Time of failed attempts after which the command gives up.
const GIVE_UP: Duration = Duration::from_secs(600);
/// Statuses after which another attempt may succeed: the service has restarted and lost the token, has not noticed the
/// end of the last connection, has too many, or is restarting.
const AGAIN: [u16; 7] = [401, 409, 429, 500, 502, 503, 504];

/// Serves the episodes of the job.
pub(super) fn serve(job: &ConnectedJob<'_>, policy: &mut LocalPolicy<'_>, cancel: &Cancel) -> Result<(), Failure> {
    let mut failing: Option<Instant> = None;
    while let Some(offer) = job.offer(cancel)? {
        let link = match open(&offer) {
            Ok(link) => link,
            Err(error) => {
                let is_final = matches!(error, ServiceLinkError::Refused(status) if !AGAIN.contains(&status));
                let began = *failing.get_or_insert_with(Instant::now);
                if is_final || began.elapsed() > GIVE_UP {
                    return Err(Failure::Internal(error.into()));
                }
                pause(PAUSE, cancel)?;
                continue;
            }
        };
        failing = None;
        match link.serve(policy) {
            LinkEnd::GivenUp => {
                return Err(policy.take_error().map_or(Failure::Interrupted, Failure::from));
            }
            LinkEnd::Closed(why) => {
                if !job.is_open(cancel)? {
                    return Ok(());
                }
                complain!("assay: connecting again: {why}");
            }
        }
    }
    Ok(())
}

fn open(offer: &ConnectionOffer) -> Result<ServiceLink, ServiceLinkError> {
    let endpoint = ServerEndpoint::parse(&offer.url);
    let endpoint = endpoint.map_err(|error| ServiceLinkError::Unreachable(format!("the service's address {error}")))?;
    // The user chose the service.
    ServiceLink::open(&AddressGuard::of_operator(), &endpoint, &offer.token)
}
