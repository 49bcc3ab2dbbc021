//! Rate limits: fixed windows of 60 s, with a count per key and class.
//!
//! The counts are kept in this process. Durable counts would cost a write per GET, and a restart loses at most one
//! window. All windows begin with the minute, so the counts of a past one are dropped together, and the memory is
//! bounded by the number of keys used within a minute.
//!
//! The servers of a site count changing requests together in the records. Of reads, they count only the first of a key
//! in a window this way, and exchange the counts of the others every second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_store::{KeyId, RequestCounter, Site, StoreError};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;

use super::error::{ApiError, OverLimit};
use crate::RateLimits;
use crate::routes::RateClass;

const WINDOW_S: i64 = 60;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The counts of the current window; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct RateWindows {
    window: Arc<Mutex<RateWindow>>,
    site: Site,
}

#[derive(Debug, Default)]
struct RateWindow {
    /// Minutes since 1970.
    number: i64,
    admitted: HashMap<(KeyId, RateClass), RequestCount>,
}

/// Requests of a key in the window.
#[derive(Debug, Clone, Copy, Default)]
struct RequestCount {
    /// Those of all servers that are known here.
    known: u32,
    /// Those of this server that the others do not know.
    unreported: u32,
}

/// The decision about a request, and the rate limit headers of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admission {
    class: RateClass,
    admitted: bool,
    limit: u32,
    remaining: u32,
    /// Unix seconds of the window's end.
    reset: i64,
    /// Seconds until then.
    wait: i64,
}

impl RateWindows {
    /// Creates the windows of a server of the site.
    #[must_use]
    pub fn new(site: Site) -> Self {
        Self { window: Arc::default(), site }
    }

    /// Copies the counts of `old` to `new`, so that rotating a key does not reset its limits.
    ///
    /// # Errors
    /// The counts of the site cannot be read or written.
    pub(crate) async fn carry_over(&self, old: &KeyId, new: &KeyId, now: Timestamp) -> Result<(), StoreError> {
        let of_site = |key: &KeyId| RateClass::ALL.map(|class| counter(key, class, window_number(now)));
        let totals = self.site.add_requests(&of_site(old).map(|counter| (counter, 0))).await?;
        let carried: Vec<_> = of_site(new).into_iter().zip(totals).filter(|(_, requests)| *requests > 0).collect();
        self.site.add_requests(&carried).await?;
        let mut window = self.lock();
        for class in RateClass::ALL {
            if let Some(count) = window.admitted.remove(&(old.clone(), class)) {
                window.admitted.insert((new.clone(), class), count);
            }
        }
        Ok(())
    }

    /// Counts a request of `key` if the current window allows it.
    ///
    /// # Errors
    /// The counts of the site cannot be written.
    pub(super) async fn admit(
        &self,
        key: &KeyId,
        class: RateClass,
        limits: &RateLimits,
        now: Timestamp,
    ) -> Result<Admission, StoreError> {
        let limit = limit_of(class, limits);
        let counted = if self.site.is_shared() && (class.is_exact() || self.is_first(key, class, now)) {
            let counted = self.site.count_request(&counter(key, class, window_number(now)), limit).await?;
            let known = RequestCount { known: counted.unwrap_or(limit), unreported: 0 };
            self.window(now).admitted.entry((key.clone(), class)).or_insert(known);
            counted
        } else {
            self.count(key, class, limit, now)
        };
        let reset = (window_number(now) + 1) * WINDOW_S;
        let remaining = limit.saturating_sub(counted.unwrap_or(limit));
        Ok(Admission { class, admitted: counted.is_some(), limit, remaining, reset, wait: reset - now.as_second() })
    }

    /// Reports the counts of this server to the others, and reads theirs.
    ///
    /// # Errors
    /// The counts of the site cannot be written; they are reported the next time.
    pub(crate) async fn exchange(&self) -> Result<(), StoreError> {
        let (number, unreported) = {
            let window = self.lock();
            let unreported = window.admitted.iter().filter(|(_, count)| count.unreported > 0);
            (window.number, unreported.map(|(of, count)| (of.clone(), count.unreported)).collect::<Vec<_>>())
        };
        let reported = unreported.iter().map(|((key, class), requests)| (counter(key, *class, number), *requests));
        let totals = self.site.add_requests(&reported.collect::<Vec<_>>()).await?;
        let mut window = self.lock();
        if window.number == number {
            for ((of, reported), total) in unreported.into_iter().zip(totals) {
                let count = window.admitted.entry(of).or_default();
                *count = RequestCount { known: total, unreported: count.unreported.saturating_sub(reported) };
            }
        }
        Ok(())
    }

    /// Counts a request here. Returns the new count, or `None` at the limit.
    fn count(&self, key: &KeyId, class: RateClass, limit: u32, now: Timestamp) -> Option<u32> {
        let mut window = self.window(now);
        let count = window.admitted.entry((key.clone(), class)).or_default();
        let before = count.known.saturating_add(count.unreported);
        if before >= limit {
            return None;
        }
        count.unreported += 1;
        Some(before + 1)
    }

    /// Returns whether this server has not counted such a request of the key in the current window.
    fn is_first(&self, key: &KeyId, class: RateClass, now: Timestamp) -> bool {
        !self.window(now).admitted.contains_key(&(key.clone(), class))
    }

    /// Returns the current window.
    fn window(&self, now: Timestamp) -> MutexGuard<'_, RateWindow> {
        let (number, mut window) = (window_number(now), self.lock());
        if window.number != number {
            // Includes a clock that was set back: that resets the window, so it never blocks a key for long.
            *window = RateWindow { number, admitted: HashMap::new() };
        }
        window
    }

    fn lock(&self) -> MutexGuard<'_, RateWindow> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the number of the window at a time, in minutes since 1970.
fn window_number(now: Timestamp) -> i64 {
    now.as_second().div_euclid(WINDOW_S)
}

/// Returns the counter that the servers of a site share.
fn counter(key: &KeyId, class: RateClass, window: i64) -> RequestCounter {
    RequestCounter { name: format!("{} {key}", class.name()), window }
}

impl Admission {
    /// Returns the error for a request over the limit.
    pub(super) fn refusal(&self) -> Option<ApiError> {
        if self.admitted {
            return None;
        }
        let Self { class, limit, wait, reset, .. } = self;
        let (what, setting) = match class {
            RateClass::Get => ("GET requests", "get_per_minute"),
            RateClass::Verify => ("POST /verify", "verify_per_minute"),
            RateClass::Submit => ("POST /submissions", "submissions_per_minute"),
            RateClass::Models => ("changes of models", "models_per_minute"),
            RateClass::Sessions => ("sign-ins", "sessions_per_minute"),
            RateClass::Pages => ("pages", "pages_per_minute"),
            RateClass::Write | RateClass::Free => ("changing requests", "write_per_minute"),
        };
        let message = format!("the key's limit of {limit} {what} per minute is used up; try again in {wait} s");
        let frees_at = Timestamp::from_second(*reset).unwrap_or(Timestamp::MAX);
        let over = OverLimit::until(setting, u64::from(*limit), u64::from(*limit), frees_at);
        Some(ApiError::over_limit(&over, message, wait.unsigned_abs()))
    }

    /// Writes the rate limit headers.
    pub(super) fn write_headers(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RESET, HeaderValue::from(self.reset));
    }
}

fn limit_of(class: RateClass, limits: &RateLimits) -> u32 {
    match class {
        RateClass::Get => limits.get_per_minute,
        RateClass::Verify => limits.verify_per_minute,
        RateClass::Submit => limits.submissions_per_minute,
        RateClass::Models => limits.models_per_minute,
        RateClass::Sessions => limits.sessions_per_minute,
        RateClass::Pages => limits.pages_per_minute,
        // Endpoints without a key are not rate-limited.
        RateClass::Write | RateClass::Free => limits.write_per_minute,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[tokio::test]
    async fn windows_start_with_the_minute_and_discard_past_counts() {
        let windows = RateWindows::default();
        let limits = RateLimits::all(2);
        let (a, b, c) = (KeyId::parse("a").unwrap(), KeyId::parse("b").unwrap(), KeyId::parse("c").unwrap());
        let at = |second: i64| Timestamp::from_second(1_200 + second).unwrap();
        let ask = async |key, class, second| {
            let found = windows.admit(key, class, &limits, at(second)).await.unwrap();
            (found.admitted, found.remaining, found.reset - 1_200, found.wait)
        };
        assert_eq!(ask(&a, RateClass::Get, 59).await, (true, 1, 60, 1));
        assert_eq!(ask(&a, RateClass::Get, 59).await, (true, 0, 60, 1));
        assert_eq!(ask(&a, RateClass::Get, 59).await, (false, 0, 60, 1));
        assert_eq!(ask(&a, RateClass::Write, 59).await, (true, 1, 60, 1), "classes are counted apart");
        assert_eq!(ask(&b, RateClass::Get, 59).await, (true, 1, 60, 1), "keys are counted apart");
        windows.carry_over(&a, &c, at(59)).await.unwrap();
        assert_eq!(
            ask(&c, RateClass::Get, 59).await,
            (false, 0, 60, 1),
            "a key that is rotated gets no further window"
        );
        assert_eq!(ask(&a, RateClass::Get, 60).await, (true, 1, 120, 60));
        assert_eq!(windows.lock().admitted.len(), 1, "a past window is forgotten");
        assert_eq!(
            ask(&a, RateClass::Get, -1).await,
            (true, 1, 0, 1),
            "a clock that was set back does not block a key"
        );
    }
}
