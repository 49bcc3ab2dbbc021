//! The refusal to run policies in isolation that is too weak.

use assay_model::Isolation;

/// Policies cannot run on this machine because their isolation is too weak.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this machine can't isolate policies with user namespaces ({why}), so policies are not run here; `assay doctor` says \
     what to do. Policy servers (ws://, http://) work. {}",
    consent(.strongest)
)]
pub struct NotIsolated {
    /// The strongest isolation available.
    pub strongest: Isolation,
    /// The reason why stronger tiers are not available.
    pub why: String,
}

/// Returns the hint for operators who want to accept weaker isolation.
fn consent(strongest: &Isolation) -> &'static str {
    match strongest {
        Isolation::Namespaces => "",
        Isolation::Landlock => "To accept Landlock instead: --accept-weaker-isolation landlock",
        Isolation::None => {
            "Landlock is not available either: only --run-untrusted-code-without-isolation runs them, and then they can \
             read everything that this user can read"
        }
    }
}
