//! Intake and execution of policies: checks and unpacks an archive, folder or file ([`intake`]), and runs it in a jail
//! from a pool of warm interpreters ([`Pool`]), or connects to a policy server ([`remote`]).
//!
//! To start reading: [`Pool::take`] returns a [`LoadOutcome`], which is either a [`PolicyProcess`] that speaks frames
//! on its stream (hand it to a lane) or a mistake of the author as a [`PolicyFailure`]. Errors are always internal.

mod adapter;
pub mod attacks;
mod connection;
mod failure;
mod forking;
mod frames;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod grace;
mod intake;
mod pool;
mod process;
mod random;
pub mod remote;
mod runtime;
mod stream;
mod thread_settings;

pub use adapter::{
    AdapterAction, AdapterError, AdapterInput, AdapterKind, InputSource, NamedArray, PolicyAdapter, StatisticsSource,
};
pub use connection::{PolicyConnection, PolicyEnd};
pub use failure::{LOG_TAIL_BYTES, MESSAGE_BYTES, PolicyFailure, TRACEBACK_BYTES};
pub use forking::{ForkingCheckError, check_forking};
pub use intake::{
    ArchiveKind, EntryProblem, Intake, IntakeError, IntakeLimits, MAX_DEPTH, MAX_ENTRIES, MAX_RATIO,
    MAX_SCENARIO_BYTES, MAX_SCENARIO_ENTRIES, MAX_UNPACKED_BYTES, ModelProblem, check_archive, intake,
    left_out_warning,
};
pub use pool::{
    LoadLimits, LoadOutcome, LoadRequest, PolicyHome, PolicyModel, Pool, PoolConfig, PoolError, PreparingPolicy,
    ProcessBudget, TakeError,
};
pub use process::PolicyProcess;
pub use random::random_number;
pub use runtime::{
    DeclarationError, ImportFailure, InstalledRuntime, NoRuntime, PackageRequirement, PackedRuntimeError,
    PolicyDeclaration, Runtime, RuntimeError, RuntimeLibrary, RuntimeManifest, SelfTest, SelfTestError, pack_runtime,
    runtime_digest, self_test, unpack_runtime,
};
pub use stream::PolicyStream;
pub use thread_settings::{ThreadSetting, thread_settings};
