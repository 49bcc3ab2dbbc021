//! Determines the strongest isolation that this machine offers.

use assay_model::{ErrorChain, Isolation};

use crate::probe::try_jail;
use crate::{Jail, JailError, Profile};

/// The strongest tier of a machine, and the reasons why stronger ones do not work.
#[derive(Debug)]
pub struct StrongestJail {
    /// The strongest tier that works.
    pub jail: Jail,
    /// The tiers that are stronger, each with the reason why it does not work.
    pub missing: Vec<(Isolation, String)>,
}

impl Jail {
    /// Returns the strongest tier in which a program runs on this machine; each is tried.
    ///
    /// # Errors
    /// [`JailError`] if the filters are not available either.
    pub fn strongest() -> Result<StrongestJail, JailError> {
        let mut missing = Vec::new();
        for tier in [Isolation::Namespaces, Isolation::Landlock] {
            match Self::of(tier).map_err(|error| ErrorChain(&error).to_string()).and_then(|jail| jail.tried()) {
                Ok(jail) => return Ok(StrongestJail { jail, missing }),
                Err(why) => missing.push((tier, why)),
            }
        }
        Ok(StrongestJail { jail: Self::of(Isolation::None)?, missing })
    }

    fn tried(self) -> Result<Self, String> {
        try_jail(&self, Profile::Policy).map(|_| self)
    }
}
