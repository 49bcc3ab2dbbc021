//! The structure of the workspace.

mod architecture;
mod circles;
