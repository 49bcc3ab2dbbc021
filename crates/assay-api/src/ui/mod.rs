//! The pages for people, under `/ui`: HTML made on the server, complete without JavaScript. They use the operations of
//! the API, with the rights of the key that the browser is signed in with.
//!
//! Where to begin: the section `pages` of `routes/list.rs`, then `start.rs`. Templates are in `templates/ui`; they are
//! checked when the program is compiled, and escape every value.

pub(crate) mod accounts;
pub(crate) mod arena;
pub(crate) mod arena_submit;
mod assets;
mod board_line;
pub(crate) mod cancel;
pub(crate) mod cheats;
pub(crate) mod clips;
pub(crate) mod collections;
pub(crate) mod community;
pub(crate) mod docs;
pub(crate) mod episode;
pub(crate) mod files;
mod form;
mod job_line;
pub(crate) mod jobs;
pub(crate) mod keys;
mod live;
pub(crate) mod models;
pub(crate) mod operator;
mod origin;
mod page;
mod posted;
pub(crate) mod publish;
pub(crate) mod replay;
pub(crate) mod reviews;
pub(crate) mod scenario;
pub(crate) mod scenarios;
pub(crate) mod season;
pub(crate) mod servers;
pub(crate) mod sign_in;
pub(crate) mod sign_out;
pub(crate) mod start;
pub(crate) mod storage;
pub(crate) mod submissions;
pub(crate) mod submit;
mod units;
mod verdict;
pub(crate) mod verification;
mod viewer;
pub(crate) mod webhooks;
pub(crate) mod workers;
