//! Sentences about a [`ClauseEvent`]: title and display names lead, ids follow; onset and peak are told apart.

use super::{ClauseEvent, EventBody, EventMoment};
use crate::{number, seconds, with_unit};

impl ClauseEvent {
    /// Returns the clause's title and id: `The arm does not touch itself (self_collision)`.
    #[must_use]
    pub fn name(&self) -> String {
        if self.title == self.clause { self.clause.clone() } else { format!("{} ({})", self.title, self.clause) }
    }

    /// Returns the course of a violation: `from 0.78 s (57.27 N), peak 557.3 N at 4.64 s, limit 50 N`.
    #[must_use]
    pub fn course(&self) -> String {
        let mut parts = Vec::new();
        if let Some(time_s) = self.onset.time_s {
            let value = self.onset.value.map(|value| format!(" ({})", with_unit(value, &self.unit)));
            parts.push(format!("from {}{}", seconds(time_s), value.unwrap_or_default()));
        }
        parts.extend(self.extreme());
        parts.push(format!("limit {}", with_unit(self.limit, &self.unit)));
        parts.join(", ")
    }

    /// Returns the peak: `peak 557.3 N at 4.64 s`, or the excess of a formula that is not a comparison with a limit.
    fn extreme(&self) -> Option<String> {
        let EventMoment { time_s, value } = self.peak;
        let time = time_s.map(|time_s| format!(" at {}", seconds(time_s))).unwrap_or_default();
        match (value, self.margin) {
            (Some(value), _) => {
                let word = if value < self.limit { "lowest" } else { "peak" };
                Some(format!("{word} {}{time}", with_unit(value, &self.unit)))
            }
            (None, Some(margin)) => Some(format!("peak {} beyond the limit{time}", with_unit(-margin, &self.unit))),
            (None, None) => time_s.map(|time_s| format!("peak at {}", seconds(time_s))),
        }
    }

    /// Returns the violation without a capital or full stop: title, episode, course and bodies.
    #[must_use]
    pub fn violation(&self) -> String {
        let bodies = EventBody::in_words(&self.bodies).map(|bodies| format!(": {bodies}")).unwrap_or_default();
        format!("{} in episode {}, {}{bodies}", self.name(), self.episode, self.course())
    }

    /// Returns the smallest margin of a satisfied clause: `TITLE (ID), 48 N, limit 50 N, in episode 0 at 3.20 s, with
    /// 4 % of its scale to spare`.
    #[must_use]
    pub fn approach(&self) -> String {
        let time = self.peak.time_s.map(|time_s| format!(" at {}", seconds(time_s))).unwrap_or_default();
        let limit = with_unit(self.limit, &self.unit);
        let value = match (self.peak.value, self.margin) {
            (Some(value), _) => format!("{}, ", with_unit(value, &self.unit)),
            (None, Some(margin)) => format!("margin {}, ", with_unit(margin, &self.unit)),
            (None, None) => String::new(),
        };
        let share =
            self.margin.map(|margin| format!(", with {} % of its scale to spare", number(margin / self.scale * 100.0)));
        format!("{}, {value}limit {limit}, in episode {}{time}{}", self.name(), self.episode, share.unwrap_or_default())
    }
}
