//! The crate from the outside: worlds built from scenarios on disk.

mod actors;
mod cameras;
mod common;
mod disturbed;
mod library;
mod mobile;
mod modes;
mod motion;
mod motions;
mod panda;
mod panda_identified;
mod pictures;
mod quadrotor;
mod refused;
mod same_images;
mod shared_workspace;
mod views;
