//! A server process as part of its site: whether it leads, and the bulletins of the others.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::bulletin::Bulletin;
use super::records::{RequestCounter, SITE_LEASE, SiteRecords};
use crate::StoreError;

/// Time after the last exchange at which a process stops leading; less than [`SITE_LEASE`], so that no two ever lead.
const LEAD: Duration = Duration::from_secs(SITE_LEASE.as_secs() / 2);

/// This process as part of its site; shared by all its clones. The default is a process that shares its records with no
/// other: it leads, and there are no others.
#[derive(Debug, Clone, Default)]
pub struct Site(Option<Arc<SharedSite>>);

#[derive(Debug)]
struct SharedSite {
    records: Arc<dyn SiteRecords>,
    process: Uuid,
    view: RwLock<SiteView>,
}

#[derive(Debug, Default)]
struct SiteView {
    /// The time until which this process leads.
    leads_until: Option<Instant>,
    others: Arc<[Bulletin]>,
}

impl Site {
    /// Creates the site of processes that share `records`; the id of this one must be unique.
    #[must_use]
    pub fn shared(records: Arc<dyn SiteRecords>, process: Uuid) -> Self {
        Self(Some(Arc::new(SharedSite { records, process, view: RwLock::default() })))
    }

    /// Returns whether other processes may share the records.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.0.is_some()
    }

    /// Returns whether this process does the upkeep of the records and the data folder.
    #[must_use]
    pub fn leads(&self) -> bool {
        let Some(site) = &self.0 else { return true };
        let view = site.view.read().unwrap_or_else(PoisonError::into_inner);
        view.leads_until.is_some_and(|until| Instant::now() < until)
    }

    /// Returns the last bulletins of the other processes.
    #[must_use]
    pub fn others(&self) -> Arc<[Bulletin]> {
        let Some(site) = &self.0 else { return Arc::default() };
        Arc::clone(&site.view.read().unwrap_or_else(PoisonError::into_inner).others)
    }

    /// Returns the records of a site that other processes may share.
    #[must_use]
    pub fn records(&self) -> Option<&dyn SiteRecords> {
        self.0.as_ref().map(|site| &*site.records)
    }

    /// Publishes the state of this process, and reads those of the others.
    ///
    /// # Errors
    /// The records failed. What is known stays, and this process soon stops leading.
    pub async fn exchange(&self, own: &Bulletin) -> Result<(), StoreError> {
        let Some(site) = &self.0 else { return Ok(()) };
        let begun = Instant::now();
        let text = serde_json::to_string(own).map_err(|e| StoreError::corrupt("a bulletin", "json", e))?;
        let exchanged = site.records.exchange(site.process, &text).await?;
        // A process of another version may publish a bulletin that this one cannot read; it is ignored.
        let others = exchanged.others.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        let mut view = site.view.write().unwrap_or_else(PoisonError::into_inner);
        *view = SiteView { leads_until: exchanged.leads.then(|| begun + LEAD), others };
        Ok(())
    }

    /// Gives up the lead, because this process stops.
    ///
    /// # Errors
    /// The records failed; then another process leads after [`SITE_LEASE`].
    pub async fn leave(&self) -> Result<(), StoreError> {
        let Some(site) = &self.0 else { return Ok(()) };
        *site.view.write().unwrap_or_else(PoisonError::into_inner) = SiteView::default();
        site.records.leave_site(site.process).await
    }

    /// Counts a request at all processes together: the new count, or `None` at the `limit`.
    ///
    /// # Errors
    /// The records failed.
    pub async fn count_request(&self, counter: &RequestCounter, limit: u32) -> Result<Option<u32>, StoreError> {
        match &self.0 {
            Some(site) => site.records.count_request(counter, limit).await,
            None => Ok(Some(0)),
        }
    }

    /// Adds requests that this process counted by itself; returns the counts of all processes, in the same order.
    ///
    /// # Errors
    /// The records failed.
    pub async fn add_requests(&self, counts: &[(RequestCounter, u32)]) -> Result<Vec<u32>, StoreError> {
        match &self.0 {
            Some(site) if !counts.is_empty() => site.records.add_requests(counts).await,
            _ => Ok(Vec::new()),
        }
    }
}
