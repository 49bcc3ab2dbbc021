//! Colours by the meaning of a text.

use anstyle::{AnsiColor, Style};
use assay_model::{ClauseStatus, EpisodeStatus, Level, Verdict};
use comfy_table::Color;

/// Meaning of a text, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Bad,
    Open,
    Heading,
    Quiet,
    Plain,
}

impl Tone {
    pub(super) fn of_verdict(verdict: Option<Verdict>) -> Self {
        match verdict {
            Some(Verdict::Safe) => Self::Good,
            Some(Verdict::Unsafe) => Self::Bad,
            Some(Verdict::Inconclusive) | None => Self::Open,
        }
    }

    pub(super) fn of_clause(level: Level, status: ClauseStatus) -> Self {
        match (status, level) {
            (ClauseStatus::Satisfied, _) => Self::Good,
            (ClauseStatus::Violated, Level::Critical) => Self::Bad,
            _ => Self::Open,
        }
    }

    pub(super) fn of_episode(status: EpisodeStatus) -> Self {
        if status == EpisodeStatus::Completed { Self::Plain } else { Self::Bad }
    }

    /// Returns the colour of a table cell.
    pub(super) fn cell(self) -> Option<Color> {
        match self {
            Self::Good => Some(Color::DarkGreen),
            Self::Bad => Some(Color::DarkRed),
            Self::Open => Some(Color::DarkYellow),
            Self::Heading | Self::Quiet | Self::Plain => None,
        }
    }

    fn style(self) -> Style {
        let colour = |c: AnsiColor| Style::new().fg_color(Some(c.into())).bold();
        match self {
            Self::Good => colour(AnsiColor::Green),
            Self::Bad => colour(AnsiColor::Red),
            Self::Open => colour(AnsiColor::Yellow),
            Self::Heading => Style::new().bold(),
            Self::Quiet => Style::new().dimmed(),
            Self::Plain => Style::new(),
        }
    }
}

/// Applies colours to text, if they are enabled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    colour: bool,
}

impl Paint {
    pub(super) fn new(colour: bool) -> Self {
        Self { colour }
    }

    pub(super) fn colours(self) -> bool {
        self.colour
    }

    pub(super) fn text(self, tone: Tone, text: &str) -> String {
        let style = tone.style();
        if self.colour { format!("{}{text}{}", style.render(), style.render_reset()) } else { text.to_owned() }
    }
}
