//! The four kinds of process that run in a jail.

/// The purpose of a jailed process; determines its namespaces, its system calls and its default
/// [`crate::ProcessLimits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// An untrusted Python program. Has its own pid namespace, no sockets but the given one, and nothing writable.
    Policy,
    /// A stepping simulator. Shares the host's pid namespace, because it reads the policy's CPU clock by its pid; none
    /// of its allowed system calls can do anything else to a pid.
    Step,
    /// A stepping simulator whose policy receives camera images: like [`Self::Step`], with the host's `/usr` read-only
    /// for software OpenGL.
    StepWithCameras,
    /// A renderer. Sees the host's `/usr` read-only, for software OpenGL.
    Render,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 4] = [Self::Policy, Self::Step, Self::StepWithCameras, Self::Render];

    /// Returns true if the jail has its own pid namespace, with the program as its only process.
    #[must_use]
    pub fn has_pid_namespace(self) -> bool {
        !matches!(self, Self::Step | Self::StepWithCameras)
    }

    /// Returns true if it sees the host's `/usr`, for software OpenGL.
    pub(crate) fn sees_system(self) -> bool {
        matches!(self, Self::Render | Self::StepWithCameras)
    }

    /// Returns the profile's own rules, added to `base.json`.
    pub(crate) fn filter_json(self) -> &'static str {
        match self {
            Self::Policy => include_str!("../filters/policy.json"),
            Self::Step => include_str!("../filters/step.json"),
            Self::StepWithCameras => include_str!("../filters/step_with_cameras.json"),
            Self::Render => include_str!("../filters/render.json"),
        }
    }
}
