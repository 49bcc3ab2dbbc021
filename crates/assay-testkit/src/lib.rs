//! Tools for tests: run the real programs in a private folder, send requests to the real server, and find the processes
//! and files that they leave behind.
//!
//! Where to begin: [`Assay`] (the program in a private folder), [`Server`] (`assay serve` with a client).

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

mod archive;
mod client;
mod commit_cutter;
mod fake_vision;
mod host_network;
mod http_fault_proxy;
mod leftovers;
mod onnx;
mod own_namespaces;
mod postgres;
mod program;
mod protocol_worker;
mod python_server;
mod rows;
mod s3_server;
mod served_job;
mod server;
mod shared_server;
mod small_disk;
mod tampering_proxy;
mod terminal;
mod wait;
mod worker_process;

pub use archive::{VIOLATOR_THREADS, archive, cheat, cheats, example, now_s, violating_once, zip_folder};
pub use client::{Answer, Client};
pub use commit_cutter::CommitCutter;
pub use fake_vision::{Asked, FakeVision, Saying};
pub use host_network::{HostNetwork, NetHost};
pub use http_fault_proxy::{HttpFault, HttpFaultProxy};
pub use leftovers::{Jailed, jailed};
pub use onnx::OnnxModel;
pub use postgres::Postgres;
pub use program::{Assay, Run, Running, home, link_or_copy, share_file};
pub use protocol_worker::ProtocolWorker;
pub use python_server::PythonServer;
pub use rows::count_rows;
pub use s3_server::S3Server;
pub use served_job::ServedJob;
pub use server::Server;
pub use shared_server::{Account, ServerKind, SharedServer};
pub use small_disk::SmallDisk;
pub use tampering_proxy::{PassingRequest, TamperingProxy};
pub use wait::{PATIENCE, SpareTime, wait_for};
