//! Files at signed URLs: `/artifacts`, `/thumbnails`.

pub(in crate::routes) mod artifact;
pub(in crate::routes) mod thumbnail;
