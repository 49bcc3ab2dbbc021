//! Files at signed or public addresses: `/artifacts`, `/thumbnails`.

pub(in crate::routes) mod artifact;
pub(in crate::routes) mod thumbnail;
