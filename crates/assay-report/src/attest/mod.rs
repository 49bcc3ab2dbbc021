//! Signed statements: the service, the policy, the measured results and the evidence, in a form that others can verify
//! independently. A statement is an in-toto Statement v1 in a DSSE envelope (Dead Simple Signing Envelope v1), signed
//! with Ed25519 (RFC 8032).
//!
//! A signature identifies only the signer. Only recomputation shows whether the numbers are correct.
//!
//! Like the rest of the crate, this module is pure: keys and files are passed as text and bytes.

mod dsse;
mod key;
mod keys;
mod rendering;
mod statement;
mod verify;

pub use dsse::{Envelope, EnvelopeError, PAYLOAD_TYPE};
pub use key::{KeyError, PublicKey, SigningKey};
pub use keys::{KnownKey, PublishedKeys};
pub use rendering::{RENDERING_PREDICATE_TYPE, RenderingPredicate, RenderingStatement, check_rendering};
pub use statement::{
    Digest, EngineInfo, Evidence, Measured, PREDICATE_TYPE, ResourceDescriptor, STATEMENT_TYPE, ScenarioRef,
    ServiceInfo, Statement, StatementError, Times, VerificationPredicate, sha256_in,
};
pub use verify::{AttestError, VerifiedStatement, check, check_policy, recompute};
