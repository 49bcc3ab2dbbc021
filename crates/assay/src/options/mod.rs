//! Options that several commands share, and parsers of their values.

mod adapter;
mod evidence;
mod fail_on;
mod isolation;
mod judge;
mod models;
mod policy_server;
mod runtimes;
mod service;
mod service_place;
mod signing;
mod stored_records;
mod values;
mod video;

pub(crate) use self::adapter::AdapterArgs;
pub(crate) use self::evidence::EvidenceArgs;
pub(crate) use self::fail_on::FailOnArgs;
pub(crate) use self::isolation::IsolationArgs;
pub(crate) use self::judge::JudgeArgs;
pub(crate) use self::models::ModelArgs;
pub(crate) use self::policy_server::PolicyServerArgs;
pub(crate) use self::runtimes::{RUNTIMES, own_runtimes, runtimes_in, runtimes_of};
pub(crate) use self::service::ServiceArgs;
pub(crate) use self::service_place::ServicePlace;
pub(crate) use self::signing::SigningArgs;
pub(crate) use self::stored_records::StoreArgs;
pub(crate) use self::values::{PathWord, lanes, mebibytes, network, probability, result_file, server_lanes};
pub(crate) use self::video::VideoArgs;
