//! Simulation of scenarios in MuJoCo: worlds are built, randomised, stepped, observed, rendered and hashed. This is the
//! only crate that links MuJoCo, and every program that uses it belongs in a jail: untrusted MJCF can crash or stall
//! the process.
//!
//! Where to begin: [`CompiledScenario::build`] compiles a scenario once; [`CompiledScenario::simulation`] creates an
//! episode of it; [`Simulation::step`] is the inner loop.
//!
//! Time convention: a sample of signals belongs to the *start* of its physics step. MuJoCo computes positions,
//! velocities and forces for that moment and integrates last, so a sample is self-consistent.

mod actors;
mod bounds;
mod control;
mod error;
mod guard;
mod handle;
mod inputs;
mod observe;
mod opengl;
mod present;
mod push;
mod randomise;
mod render;
mod render_profile;
mod scene;
mod signal;
mod simulation;
mod trace_hash;
mod world;

pub use error::{Unstable, WorldError};
pub use opengl::RenderError;
pub use present::framing::Framing;
pub use present::look::Quality;
pub use render::{Renderer, RgbImage};
pub use scene::{Body, BodyPose, Contact, Form, Joint, Shape};
pub use simulation::Simulation;
pub use trace_hash::TraceHash;
pub use world::CompiledScenario;

/// Sends MuJoCo's messages to standard error. By default MuJoCo writes them to a file in the working directory, which
/// is not writable in a jail.
#[expect(unsafe_code, reason = "MuJoCo's log handler is a global")]
pub fn log_to_stderr() {
    // SAFETY: called at the beginning of `main`, before any other thread uses MuJoCo.
    unsafe { mujoco_rs::prelude::set_log_handler(|message| eprintln!("MuJoCo: {}", message.subject())) };
}

/// Returns the version that the loaded MuJoCo library reports.
#[must_use]
pub fn mujoco_version() -> String {
    mujoco_rs::mujoco_version().to_owned()
}
