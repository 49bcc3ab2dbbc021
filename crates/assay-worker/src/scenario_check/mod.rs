//! Checks of scenarios in jails: of any folder ([`examine`]), and before publication ([`publish_check`]).

pub(crate) mod examine;
pub(crate) mod examine_limits;
pub(crate) mod publish_check;
