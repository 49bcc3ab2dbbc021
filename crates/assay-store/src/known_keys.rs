//! Cache of API keys for a backend: every request needs one, and they hardly ever change.
//!
//! An entry is valid until the next commit of this process (or, if the backend knows it, the next change of a key),
//! and for at most [`MAX_AGE`], within which a key that another process has revoked may still be accepted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{KeyId, KeyRecord};

/// Maximum number of cached keys.
const MAX_KEYS: usize = 1024;
/// Age up to which an entry is valid.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The cached keys.
#[derive(Debug, Default)]
pub(crate) struct KnownKeys(Mutex<KeyCache>);

#[derive(Debug, Default)]
struct KeyCache {
    /// The number of commits of this process for which `keys` is valid.
    commits: u64,
    keys: HashMap<KeyId, CachedKey>,
}

#[derive(Debug)]
struct CachedKey {
    key: Arc<KeyRecord>,
    read_at: Instant,
}

impl KnownKeys {
    /// Returns the key with this id; calls `read` if it is not cached. `commits` is the current number of commits of
    /// this process.
    pub(crate) fn get<E>(
        &self,
        id: &KeyId,
        commits: u64,
        read: impl FnOnce() -> Result<Option<KeyRecord>, E>,
    ) -> Result<Option<Arc<KeyRecord>>, E> {
        self.get_at(Instant::now(), id, commits, read)
    }

    /// Like [`Self::get`], for a backend whose reads are asynchronous.
    pub(crate) async fn get_async<E>(
        &self,
        id: &KeyId,
        commits: u64,
        read: impl Future<Output = Result<Option<KeyRecord>, E>>,
    ) -> Result<Option<Arc<KeyRecord>>, E> {
        let now = Instant::now();
        if let Some(key) = self.cached(now, id, commits) {
            return Ok(Some(key));
        }
        let found = read.await?.map(Arc::new);
        if let Some(key) = &found {
            self.insert(now, id, commits, key);
        }
        Ok(found)
    }

    /// `now` and `commits` are taken before `read`, so a change during the read makes the entry invalid.
    fn get_at<E>(
        &self,
        now: Instant,
        id: &KeyId,
        commits: u64,
        read: impl FnOnce() -> Result<Option<KeyRecord>, E>,
    ) -> Result<Option<Arc<KeyRecord>>, E> {
        if let Some(key) = self.cached(now, id, commits) {
            return Ok(Some(key));
        }
        let found = read()?.map(Arc::new);
        if let Some(key) = &found {
            self.insert(now, id, commits, key);
        }
        Ok(found)
    }

    fn cached(&self, now: Instant, id: &KeyId, commits: u64) -> Option<Arc<KeyRecord>> {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = cache.keys.get(id).filter(|_| cache.commits == commits)?;
        (now.saturating_duration_since(entry.read_at) < MAX_AGE).then(|| Arc::clone(&entry.key))
    }

    fn insert(&self, read_at: Instant, id: &KeyId, commits: u64, key: &Arc<KeyRecord>) {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.commits > commits {
            return;
        }
        if cache.commits < commits || cache.keys.len() >= MAX_KEYS {
            cache.commits = commits;
            cache.keys.clear();
        }
        cache.keys.insert(id.clone(), CachedKey { key: Arc::clone(key), read_at });
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::cell::Cell;
    use std::convert::Infallible;

    use jiff::Timestamp;

    use super::*;

    #[test]
    fn an_entry_is_valid_until_a_commit_and_for_a_second() {
        let (keys, reads, begin) = (KnownKeys::default(), Cell::new(0), Instant::now());
        let id = KeyId::parse("k1").unwrap();
        let record = KeyRecord {
            id: id.clone(),
            account: "lab".parse().unwrap(),
            name: String::new(),
            scopes: "read".parse().unwrap(),
            secret_hash: [0; 32],
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        let get = |millis: u64, commits: u64| {
            let read = || {
                reads.set(reads.get() + 1);
                Ok::<_, Infallible>(Some(record.clone()))
            };
            keys.get_at(begin + Duration::from_millis(millis), &id, commits, read).unwrap().unwrap();
            reads.get()
        };
        assert_eq!([get(0, 0), get(999, 0), get(1000, 0), get(1500, 0)], [1, 1, 2, 2]);
        assert_eq!([get(1500, 1), get(1600, 1)], [3, 3], "a commit invalidates all entries");
        assert_eq!([get(1600, 0), get(1600, 1)], [4, 3 + 1], "a late reader does not replace newer entries");
        let none = keys.get_at(begin, &KeyId::parse("k2").unwrap(), 1, || Ok::<_, Infallible>(None)).unwrap();
        assert!(none.is_none());
    }
}
