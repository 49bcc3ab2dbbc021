//! Runtimes: folders that become the root of a policy's jail, with an interpreter and packages.
//!
//! Any number of them are installed side by side ([`RuntimeLibrary`]). A policy declares what it needs
//! ([`PolicyDeclaration`]); the runtime that satisfies it is chosen when the policy is accepted, and its digest is kept
//! with the job, so that a replay uses the same files. Nothing is ever installed for a policy.

mod declaration;
mod error;
mod library;
mod manifest;
mod packed;
mod requirement;
mod script;
mod self_test;
mod toml_text;

pub use declaration::PolicyDeclaration;
pub(crate) use declaration::{DECLARATION_FILE, SCRIPT_FILE};
pub(crate) use error::MAX_DECLARATION_BYTES;
pub use error::{DeclarationError, NoRuntime, RuntimeError};
pub use library::{InstalledRuntime, Runtime, RuntimeLibrary};
pub use manifest::RuntimeManifest;
pub use packed::{PackedRuntimeError, pack_runtime, runtime_digest, unpack_runtime};
pub use requirement::PackageRequirement;
pub use self_test::{ImportFailure, SelfTest, SelfTestError, self_test};
