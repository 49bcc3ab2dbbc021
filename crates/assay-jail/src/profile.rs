//! The four kinds of process that run in a jail.

/// The purpose of a jailed process; determines its namespaces, its system calls and its default
/// [`crate::ProcessLimits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// An untrusted Python program. Its own pid namespace, no sockets but the given one, nothing writable.
    Policy,
    /// A simulator, stepping. Shares the host's pid namespace, because it reads the policy's CPU clock by its pid; none
    /// of its allowed system calls can do anything else to a pid.
    Step,
    /// A simulator, stepping, whose policy receives camera images: as [`Self::Step`], with the host's `/usr` read-only
    /// for software OpenGL.
    StepWithCameras,
    /// A simulator, drawing. Sees the host's `/usr` read-only, for software OpenGL.
    Render,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 4] = [Self::Policy, Self::Step, Self::StepWithCameras, Self::Render];

    /// Returns whether the jail has a pid namespace of its own, with the program as its only process.
    #[must_use]
    pub fn has_pid_namespace(self) -> bool {
        !matches!(self, Self::Step | Self::StepWithCameras)
    }

    /// Returns whether it sees the host's `/usr`, for software OpenGL.
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
