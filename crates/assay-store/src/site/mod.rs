//! The server processes that share records, and what each knows of the others.

mod bulletin;
mod records;
mod shared_site;

pub use bulletin::{Bulletin, JobEpisodeProgress, UploadCount};
pub use records::{ConnectionTokenRecord, RequestCounter, SITE_LEASE, SiteExchange, SiteRecords};
pub use shared_site::Site;
