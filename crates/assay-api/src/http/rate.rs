//! Rate limits: fixed windows of 60 s, with a count per key and class.
//!
//! The counts are kept in this process. Durable counts would cost a write per GET, and a restart loses at most one
//! window. All windows begin with the minute, so the counts of a past one are dropped together, and the memory is
//! bounded by the number of keys used within a minute.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_store::KeyId;
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
pub struct RateWindows(Arc<Mutex<RateWindow>>);

#[derive(Debug, Default)]
struct RateWindow {
    /// Minutes since 1970.
    number: i64,
    admitted: HashMap<(KeyId, RateClass), u32>,
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
    /// Moves the counts of `old` to `new`, so that rotating a key does not reset its limits.
    pub(crate) fn carry_over(&self, old: &KeyId, new: &KeyId) {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for class in RateClass::ALL {
            if let Some(count) = window.admitted.remove(&(old.clone(), class)) {
                window.admitted.insert((new.clone(), class), count);
            }
        }
    }

    /// Counts a request of `key` if the current window allows it.
    pub(super) fn admit(&self, key: &KeyId, class: RateClass, limits: &RateLimits, now: Timestamp) -> Admission {
        let (number, limit) = (now.as_second().div_euclid(WINDOW_S), limit_of(class, limits));
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if window.number != number {
            // Includes a clock that was set back: that resets the window, so it never blocks a key for long.
            *window = RateWindow { number, admitted: HashMap::new() };
        }
        let count = window.admitted.entry((key.clone(), class)).or_default();
        let admitted = *count < limit;
        *count += u32::from(admitted);
        let remaining = limit - *count;
        let reset = (number + 1) * WINDOW_S;
        Admission { class, admitted, limit, remaining, reset, wait: reset - now.as_second() }
    }
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
        RateClass::Pages => limits.pages_per_minute,
        // Endpoints without a key are not rate-limited.
        RateClass::Write | RateClass::Free => limits.write_per_minute,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn windows_start_with_the_minute_and_discard_past_counts() {
        let windows = RateWindows::default();
        let limits = RateLimits::all(2);
        let (a, b) = (KeyId::parse("a").unwrap(), KeyId::parse("b").unwrap());
        let at = |second: i64| Timestamp::from_second(1_200 + second).unwrap();
        let ask = |key, class, second| {
            let found = windows.admit(key, class, &limits, at(second));
            (found.admitted, found.remaining, found.reset - 1_200, found.wait)
        };
        assert_eq!(ask(&a, RateClass::Get, 59), (true, 1, 60, 1));
        assert_eq!(ask(&a, RateClass::Get, 59), (true, 0, 60, 1));
        assert_eq!(ask(&a, RateClass::Get, 59), (false, 0, 60, 1));
        assert_eq!(ask(&a, RateClass::Write, 59), (true, 1, 60, 1), "classes are counted apart");
        assert_eq!(ask(&b, RateClass::Get, 59), (true, 1, 60, 1), "keys are counted apart");
        let c = KeyId::parse("c").unwrap();
        windows.carry_over(&a, &c);
        assert_eq!(ask(&c, RateClass::Get, 59), (false, 0, 60, 1), "a key that is rotated gets no further window");
        assert_eq!(ask(&a, RateClass::Get, 60), (true, 1, 120, 60));
        assert_eq!(windows.0.lock().unwrap().admitted.len(), 1, "a past window is forgotten");
        assert_eq!(ask(&a, RateClass::Get, -1), (true, 1, 0, 1), "a clock that was set back does not block a key");
    }
}
