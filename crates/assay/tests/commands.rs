//! The commands, as a shell sees them, and the programs on machines and files that they did not choose.

mod authority;
mod hostile;
mod isolation;
mod jail;
mod releases;
mod scenario;
mod verify;
