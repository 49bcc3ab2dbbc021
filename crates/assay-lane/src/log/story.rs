//! Describes an episode in words: its events with their times, as lines of `/log`.

use assay_model::{ClauseEvent, EpisodeResult, Level, with_unit};
use foxglove::messages::Log;
use foxglove::messages::log::Level as LogLevel;

use super::topics::timestamp;

/// A line with its time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) time_s: f64,
    level: LogLevel,
    text: String,
}

impl Line {
    pub(super) fn info(time_s: f64, text: String) -> Self {
        Self { time_s, level: LogLevel::Info, text }
    }

    pub(super) fn message(&self) -> Log {
        Log {
            timestamp: Some(timestamp(self.time_s)),
            level: self.level.into(),
            message: self.text.clone(),
            name: "assay".to_owned(),
            ..Log::default()
        }
    }
}

/// Returns start, stages, violations, error and end of `result`, ordered by time; none later than `end_s`.
pub(super) fn story(result: &EpisodeResult, end_s: f64) -> Vec<Line> {
    let mut lines = Vec::new();
    for stage in result.stages.iter().filter_map(|stage| stage.time_s.map(|time_s| (time_s, &stage.name))) {
        lines.push(Line::info(stage.0, format!("stage {} reached", stage.1)));
    }
    for violation in &result.violations {
        let level = if violation.level == Level::Critical { LogLevel::Error } else { LogLevel::Warning };
        let clause = result.clauses.iter().find(|clause| clause.id == violation.clause);
        let text = clause.map_or_else(
            || format!("{} violated, limit {}", violation.clause, with_unit(violation.limit, &violation.unit)),
            |clause| {
                let event = ClauseEvent::of_interval(result, clause, violation);
                format!("violated: {}, {}", event.name(), event.course())
            },
        );
        lines.push(Line { time_s: violation.start_s, level, text });
        if violation.end_s < end_s {
            lines.push(Line::info(violation.end_s, format!("{} holds again", violation.clause)));
        }
    }
    if let Some(error) = &result.error {
        let text = [error.message.as_str(), error.log_tail.as_str()].join("\n");
        lines.push(Line { time_s: end_s, level: LogLevel::Error, text: text.trim_end().to_owned() });
    }
    let success = if result.success { "the task is done" } else { "the task is not done" };
    lines.push(Line::info(end_s, format!("the episode ended: {}, {success}", result.termination.words())));
    lines.iter_mut().for_each(|line| line.time_s = line.time_s.min(end_s));
    lines.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
    lines
}
